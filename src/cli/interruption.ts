import { Interrupted } from './exit.ts';

/** Runs `body` until it ends. Ctrl-C aborts its signal with an {@link Interrupted} of this sentence. */
export async function untilInterrupted<T>(
  sentence: string,
  body: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const interruption = new AbortController();
  const interrupt = (): void => interruption.abort(new Interrupted(sentence));
  process.once('SIGINT', interrupt);
  try {
    return await body(interruption.signal);
  } finally {
    process.off('SIGINT', interrupt);
  }
}

/** The error to throw: an interruption if `signal` of `shutdownSignal` was aborted, otherwise `error`. */
export function stoppedBy(signal: AbortSignal, error: unknown): unknown {
  return signal.aborted ? new Interrupted(`stopped by ${signal.reason}`) : error;
}
