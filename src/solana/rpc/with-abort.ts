import { setMaxListeners } from 'node:events';

/** Shared, because creating an error for every request would capture a stack each time. */
const CANCELLED = new DOMException('the request was cancelled', 'AbortError');

/**
 * Runs `work` with a signal that aborts when `work` has settled, or when one of `ends` aborts, with its reason.
 * Listeners are removed then. `AbortSignal.any` is not used: in Node 20 it stays attached to living sources, and
 * loses an otherwise unreferenced timeout (nodejs/node#62363, #57736).
 */
export async function withAbort<T>(
  work: (over: AbortSignal) => Promise<T>,
  ...ends: readonly (AbortSignal | undefined)[]
): Promise<T> {
  const ended = new AbortController();
  setMaxListeners(0, ended.signal);
  const abort = (): void => ended.abort(ends.find((end) => end?.aborted)?.reason);
  for (const end of ends) end?.addEventListener('abort', abort, { once: true });
  if (ends.some((end) => end?.aborted)) abort();
  try {
    return await work(ended.signal);
  } finally {
    for (const end of ends) end?.removeEventListener('abort', abort);
    ended.abort(CANCELLED);
  }
}
