import { setMaxListeners } from 'node:events';

/** One error for all requests, because each new error would capture a stack. */
const CANCELLED = new DOMException('the request was cancelled', 'AbortError');

/**
 * Runs `work` with a signal that aborts when `work` settles or one of `signals` aborts, and then removes its listeners.
 * `AbortSignal.any` is not used: in Node 20 it leaks listeners on long-lived sources, and loses a timeout signal that
 * nothing else references (nodejs/node#62363, #57736).
 */
export async function withAbort<T>(
  work: (signal: AbortSignal) => Promise<T>,
  ...signals: readonly (AbortSignal | undefined)[]
): Promise<T> {
  const controller = new AbortController();
  setMaxListeners(0, controller.signal);
  const abort = (): void => controller.abort(signals.find((end) => end?.aborted)?.reason);
  for (const end of signals) end?.addEventListener('abort', abort, { once: true });
  if (signals.some((end) => end?.aborted)) abort();
  try {
    return await work(controller.signal);
  } finally {
    for (const end of signals) end?.removeEventListener('abort', abort);
    controller.abort(CANCELLED);
  }
}
