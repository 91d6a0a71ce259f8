import { SluiceError } from './errors.ts';

export interface CallOptions {
  /** Ends the call and its retries: the call rejects with the signal's reason. */
  readonly signal?: AbortSignal | undefined;
}

export interface PollOptions extends CallOptions {
  /** Called once for each period in which the API does not respond; the wait continues. */
  readonly onSilence?: ((error: SluiceError) => void) | undefined;
  /** Polling interval in ms. @default 500 for a withdrawal, 1_000 for a feed or an audit */
  readonly pollMs?: number | undefined;
}

/** Retries `ask` until the API responds. Throws errors that waiting cannot resolve, and the reason of the signal. */
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
