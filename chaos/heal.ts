import { setTimeout as sleep } from 'node:timers/promises';

/** Ends a fault and returns how often the stack met it. A fault that the stack never met proves nothing. */
export type Heal = () => Promise<number> | number;

/** Calls `act` every `everyMs` until the fault is healed, and met or out of patience. Adds up its results; a failed call counts 0. */
export function repeatedly(everyMs: number, act: () => Promise<number>, patienceMs = 0): Heal {
  const stop = new AbortController();
  const acting = (async () => {
    let met = 0;
    let end = Number.POSITIVE_INFINITY;
    stop.signal.addEventListener('abort', () => {
      end = performance.now() + patienceMs;
    });
    while (!stop.signal.aborted || (met === 0 && performance.now() < end)) {
      met += await act().catch(() => 0);
      await sleep(everyMs);
    }
    return met;
  })();
  return () => {
    stop.abort();
    return acting;
  };
}
