import { Interrupted } from './exit.ts';

/** Runs `body` to its end. Ctrl-C aborts the signal with an {@link Interrupted} whose message is `sentence`. */
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
