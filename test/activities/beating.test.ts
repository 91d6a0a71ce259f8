import { MockActivityEnvironment } from '@temporalio/testing';
import { afterEach, expect, it, vi } from 'vitest';
import { beating } from '../../src/activities/beating.ts';

afterEach(() => vi.useRealTimers());

/** What is beaten while a work of so many seconds goes on, and for as long after it. */
async function beats(seconds: number, work: () => void, details?: () => unknown): Promise<unknown[]> {
  vi.useFakeTimers({ toFake: ['setTimeout', 'setInterval', 'clearInterval'] });
  const told: unknown[] = [];
  const environment = new MockActivityEnvironment();
  environment.on('heartbeat', (one: unknown) => told.push(one));
  const timed = async (): Promise<void> => {
    work();
    await new Promise((resolve) => setTimeout(resolve, seconds * 1_000));
  };
  const running = environment.run(() => beating(timed, details)).catch(() => undefined);
  await vi.advanceTimersByTimeAsync(2 * seconds * 1_000);
  await running;
  return told;
}

it('beats for as long as the work goes on, each time with how far it is then', async () => {
  let looks = 0;
  const nothing = (): void => undefined;
  expect(await beats(7, nothing, () => (looks += 1))).toEqual([1, 2, 3]);
  expect(await beats(5, nothing)).toEqual([undefined, undefined]);
});

it('ends with a work that fails', async () => {
  const fail = (): never => {
    throw new Error('boom');
  };
  expect(await beats(7, fail)).toEqual([]);
});
