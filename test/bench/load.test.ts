import { afterEach, expect, it, vi } from 'vitest';
import { driveWhile } from '../../bench/load.ts';

afterEach(() => vi.useRealTimers());

it('counts a pause before a request in no latency', async () => {
  vi.useFakeTimers({ toFake: ['performance'] });
  const load = await driveWhile(
    (index) => index < 3,
    1,
    async () => vi.advanceTimersByTime(500),
    async () => vi.advanceTimersByTime(200),
  );
  expect(load).toEqual({ count: 3, seconds: 2.1, pausedSeconds: 0.6, latenciesMs: [500, 500, 500] });
});
