import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { TtlCache } from '../../../src/solana/rpc/ttl-cache.ts';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

/** The results of a four-second load in a three-second cache, requested at these milliseconds. */
async function loadsOf(since: 'asked' | 'answered', askedAt: readonly number[]): Promise<number> {
  const cache = new TtlCache<void>(3_000, 1, since);
  const load = vi.fn(() => new Promise<void>((resolve) => setTimeout(resolve, 4_000)));
  let now = 0;
  for (const at of askedAt) {
    await vi.advanceTimersByTimeAsync(at - now);
    now = at;
    void cache.get('', load);
  }
  return load.mock.calls.length;
}

it('a cache entry ages from the request by default', async () => {
  expect(await loadsOf('asked', [0, 2_999])).toBe(1);
  expect(await loadsOf('asked', [0, 3_000])).toBe(2);
});

it('a cache entry ages from the answer when configured so, and no new load starts before that', async () => {
  expect(await loadsOf('answered', [0, 3_999, 6_999])).toBe(1);
  expect(await loadsOf('answered', [0, 3_999, 7_000])).toBe(2);
});

it('a cache keeps no failure', async () => {
  const cache = new TtlCache<string>(3_000, 1, 'answered');
  await expect(cache.get('', () => Promise.reject(new Error('down')))).rejects.toThrow('down');
  expect(await cache.get('', async () => 'up')).toBe('up');
});
