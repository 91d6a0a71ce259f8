import { SluiceError } from './errors.ts';

/** What ends a call early. */
export interface CallOptions {
  /** Ends the call, and all tries of it: it rejects with the reason. */
  readonly signal?: AbortSignal | undefined;
}

/** How a wait goes on. */
export interface PollOptions extends CallOptions {
  /** Called when the API falls silent, once until it has answered again; the wait goes on. */
  readonly onSilence?: ((error: SluiceError) => void) | undefined;
  /** Milliseconds between two looks. @default 500 for a withdrawal, 1_000 for a feed or an audit */
  readonly pollMs?: number | undefined;
}

/** What `ask` answers, however long the API is silent before. Throws what no waiting can change, and the reason of the signal. */
export async function untilAnswered<T>(
  ask: () => Promise<T>,
  { signal, onSilence, pollMs }: PollOptions & { readonly pollMs: number },
): Promise<T> {
  for (let isFirst = true; ; isFirst = false) {
    try {
      return await ask();
    } catch (error) {
      if (!(error instanceof SluiceError && error.retryable)) throw error;
      if (isFirst) onSilence?.(error);
    }
    await delay(pollMs, signal);
  }
}

/** Resolves after `ms`, or rejects with the reason of `signal`. */
export async function delay(ms: number, signal?: AbortSignal): Promise<void> {
  signal?.throwIfAborted();
  await new Promise<void>((resolve, reject) => {
    const abort = (): void => {
      clearTimeout(timer);
      reject(signal?.reason);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener('abort', abort);
      resolve();
    }, ms);
    signal?.addEventListener('abort', abort, { once: true });
  });
}
