import { setMaxListeners } from 'node:events';

/** Shared, because creating an error for every request would capture a stack each time. */
const CANCELLED = new DOMException('the request was cancelled', 'AbortError');

/**
 * Runs `work` with a signal that aborts when `work` has settled, or when one of `ends` aborts, with its reason.
 * Listeners are removed then. `AbortSignal.any` is not used: in Node 20 it stays attached to living sources, and
 * loses an otherwise unreferenced timeout (nodejs/node#62363, #57736).
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
