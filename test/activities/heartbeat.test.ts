import { MockActivityEnvironment } from '@temporalio/testing';
import { afterEach, expect, it, vi } from 'vitest';
import { withHeartbeat } from '../../src/activities/heartbeat.ts';
import { TIMEOUTS } from '../../src/domain/timeouts.ts';

afterEach(() => vi.useRealTimers());

/** Counts the heartbeats while a task runs that takes `intervals` between two heartbeats, and for as long after it. */
async function heartbeatsDuring(intervals: number, work: () => void): Promise<number> {
  const ms = intervals * TIMEOUTS.heartbeatEveryMs;
  vi.useFakeTimers({ toFake: ['setTimeout', 'setInterval', 'clearInterval'] });
  let heartbeats = 0;
  const environment = new MockActivityEnvironment();
  environment.on('heartbeat', () => {
    heartbeats += 1;
  });
  const timed = async (): Promise<void> => {
    work();
    await new Promise((resolve) => setTimeout(resolve, ms));
  };
  const running = environment.run(() => withHeartbeat(timed)).catch(() => undefined);
  await vi.advanceTimersByTimeAsync(2 * ms);
  await running;
  return heartbeats;
}

it('the heartbeat repeats for as long as the work runs', async () => {
  const nothing = (): void => undefined;
  expect(await heartbeatsDuring(3.5, nothing)).toBe(3);
  expect(await heartbeatsDuring(2.5, nothing)).toBe(2);
});

it('the heartbeat ends when the work fails', async () => {
  const fail = (): never => {
    throw new Error('boom');
  };
  expect(await heartbeatsDuring(3.5, fail)).toBe(0);
});
