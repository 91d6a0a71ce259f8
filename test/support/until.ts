import { setTimeout as sleep } from 'node:timers/promises';

/** Polls a condition until it is met; rejects after `patienceMs`. */
export async function until(isMet: () => boolean | Promise<boolean>, patienceMs = 90_000): Promise<void> {
  const end = performance.now() + patienceMs;
  while (!(await isMet())) {
    if (performance.now() > end) throw new Error(`the condition is not met after ${patienceMs} ms`);
    await sleep(20);
  }
}
