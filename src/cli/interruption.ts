import { Interrupted } from './exit.ts';

/** Runs `body` until it ends or Ctrl-C ends it: then its signal is aborted with an {@link Interrupted} of this sentence. */
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

/** What to throw for an `error` that came after `signal` of `shutdownSignal` was aborted, or came of it: that a person stopped it. */
export function stoppedBy(signal: AbortSignal, error: unknown): unknown {
  return signal.aborted ? new Interrupted(`stopped by ${signal.reason}`) : error;
}
