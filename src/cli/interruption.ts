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
