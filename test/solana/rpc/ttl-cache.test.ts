import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { TtlCache } from '../../../src/solana/rpc/ttl-cache.ts';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

/** What a load that takes four seconds is good for in a cache of three, asked at these milliseconds. */
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

it('counts from the question, where nothing else is said', async () => {
  expect(await loadsOf('asked', [0, 2_999])).toBe(1);
  expect(await loadsOf('asked', [0, 3_000])).toBe(2);
});

it('counts from the answer where it is told to, and starts nothing before that', async () => {
  expect(await loadsOf('answered', [0, 3_999, 6_999])).toBe(1);
  expect(await loadsOf('answered', [0, 3_999, 7_000])).toBe(2);
});

it('keeps no failure', async () => {
  const cache = new TtlCache<string>(3_000, 1, 'answered');
  await expect(cache.get('', () => Promise.reject(new Error('down')))).rejects.toThrow('down');
  expect(await cache.get('', async () => 'up')).toBe('up');
});
