import { setMaxListeners } from 'node:events';

/** One for all: every request ends with it, and each new one would collect its stack. */
const GIVEN_UP = new DOMException('the question was given up', 'AbortError');

/**
 * Runs `work`. Whatever it still asks is given up when it has ended, or when one of `ends` is aborted, with the reason of that. It listens
 * to them no longer than that: `AbortSignal.any` of Node 20 stays with each of its sources for as long as that lives, and forgets a
 * timeout that nobody else holds (nodejs/node#62363, #57736).
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
