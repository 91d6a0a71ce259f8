import { MockActivityEnvironment } from '@temporalio/testing';
import { afterEach, expect, it, vi } from 'vitest';
import { beating } from '../../src/activities/beating.ts';

afterEach(() => vi.useRealTimers());

/** What is beaten while a work of so many seconds goes on, and for as long after it. */
async function beats(seconds: number, work: () => void): Promise<number> {
  vi.useFakeTimers({ toFake: ['setTimeout', 'setInterval', 'clearInterval'] });
  let told = 0;
  const environment = new MockActivityEnvironment();
  environment.on('heartbeat', () => {
    told += 1;
  });
  const timed = async (): Promise<void> => {
    work();
    await new Promise((resolve) => setTimeout(resolve, seconds * 1_000));
  };
  const running = environment.run(() => beating(timed)).catch(() => undefined);
  await vi.advanceTimersByTimeAsync(2 * seconds * 1_000);
  await running;
  return told;
}

it('beats for as long as the work goes on', async () => {
  const nothing = (): void => undefined;
  expect(await beats(7, nothing)).toBe(3);
  expect(await beats(5, nothing)).toBe(2);
});

it('ends with a work that fails', async () => {
  const fail = (): never => {
    throw new Error('boom');
  };
  expect(await beats(7, fail)).toBe(0);
});
