import { setMaxListeners } from 'node:events';

/** Shared, because creating an error for every request would capture a stack each time. */
const GIVEN_UP = new DOMException('the question was given up', 'AbortError');

/**
 * Runs `work` with a signal that aborts when `work` has settled, or when one of `ends` aborts, with its reason.
 * Listeners are removed then. `AbortSignal.any` is not used: in Node 20 it stays attached to living sources, and
 * loses an otherwise unreferenced timeout (nodejs/node#62363, #57736).
 */
export async function givingUp<T>(
  work: (over: AbortSignal) => Promise<T>,
  ...ends: readonly (AbortSignal | undefined)[]
): Promise<T> {
  const ended = new AbortController();
  setMaxListeners(0, ended.signal);
  const giveUp = (): void => ended.abort(ends.find((end) => end?.aborted)?.reason);
  for (const end of ends) end?.addEventListener('abort', giveUp, { once: true });
  if (ends.some((end) => end?.aborted)) giveUp();
  try {
    return await work(ended.signal);
  } finally {
    for (const end of ends) end?.removeEventListener('abort', giveUp);
    ended.abort(GIVEN_UP);
  }
}
