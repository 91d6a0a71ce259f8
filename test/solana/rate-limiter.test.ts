import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { RateLimiter, RateLimitTimeout } from '../../src/solana/rpc/rate-limiter.ts';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

const patience = new AbortController().signal;

it('the rate limiter starts no more requests in any second than allowed, in the order of arrival', async () => {
  const limiter = new RateLimiter({ concurrency: 100, perSecond: 4 });
  const started: number[] = [];
  const all = Promise.all(
    Array.from({ length: 10 }, (_, index) => limiter.pass(patience, async () => started.push(index))),
  );
  await vi.advanceTimersByTimeAsync(999);
  expect(started).toEqual([0, 1, 2, 3]);
  await vi.advanceTimersByTimeAsync(1);
  expect(started).toEqual([0, 1, 2, 3, 4, 5, 6, 7]);
  await vi.advanceTimersByTimeAsync(1_000);
  await all;
  expect(started).toHaveLength(10);
});

it('the rate limiter delays no request when the clock is set back', async () => {
  const limiter = new RateLimiter({ concurrency: 4, perSecond: 1 });
  await limiter.pass(patience, async () => 'first');
  vi.setSystemTime(Date.now() - 3_600_000);
  const next = limiter.pass(patience, async () => 'next');
  await vi.advanceTimersByTimeAsync(1_000);
  expect(await Promise.race([next, Promise.resolve('still waiting')])).toBe('next');
});

it('the rate limiter drops a request that waited too long, and never runs it', async () => {
  const limiter = new RateLimiter({ concurrency: 1, perSecond: Number.POSITIVE_INFINITY });
  let release = (): void => {};
  const first = limiter.pass(patience, () => new Promise<void>((resolve) => (release = resolve)));
  const deadline = new AbortController();
  const late = vi.fn(async () => 'late');
  const waiting = limiter.pass(deadline.signal, late);
  deadline.abort(new Error('too late'));
  await expect(waiting).rejects.toThrow(RateLimitTimeout);
  release();
  await first;
  expect(await limiter.pass(patience, async () => 'next')).toBe('next');
  expect(late).not.toHaveBeenCalled();
});

it('the rate limiter continues after a failed request', async () => {
  const limiter = new RateLimiter({ concurrency: 1, perSecond: Number.POSITIVE_INFINITY });
  await expect(limiter.pass(patience, () => Promise.reject(new Error('broken')))).rejects.toThrow('broken');
  expect(await limiter.pass(patience, async () => 'next')).toBe('next');
});

/** Aborts within a second, on the clock of the test. */
function impatience(): AbortSignal {
  const deadline = new AbortController();
  setTimeout(() => deadline.abort(new Error('too late')), 900);
  return deadline.signal;
}

it('the rate limiter spends no slot on a dropped request: after a burst, later requests start', async () => {
  const limiter = new RateLimiter({ concurrency: 16, perSecond: 10 });
  const ends: string[] = [];
  const ask = (name: string) =>
    void limiter
      .pass(impatience(), async () => undefined)
      .then(
        () => ends.push(`${name} answered`),
        () => ends.push(`${name} late`),
      );
  for (let index = 0; index < 100; index += 1) ask('burst');
  await vi.advanceTimersByTimeAsync(5_000);
  expect(ends.filter((end) => end === 'burst answered')).toHaveLength(10);
  ends.length = 0;
  for (let index = 0; index < 90; index += 1) {
    ask('later');
    await vi.advanceTimersByTimeAsync(111);
  }
  await vi.advanceTimersByTimeAsync(2_000);
  expect(new Set(ends)).toEqual(new Set(['later answered']));
});

it('the rate limiter starts no request whose signal is already aborted', async () => {
  const limiter = new RateLimiter({ concurrency: 1, perSecond: 1 });
  const request = vi.fn(async () => 'asked');
  await expect(limiter.pass(AbortSignal.abort(new Error('too late')), request)).rejects.toThrow('too late');
  expect(request).not.toHaveBeenCalled();
  expect(await limiter.pass(patience, request)).toBe('asked');
});

describe('sends', () => {
  it('take at most half of the connections, and reads pass waiting sends', async () => {
    const limiter = new RateLimiter({ concurrency: 4, perSecond: Number.POSITIVE_INFINITY });
    const started: string[] = [];
    const ask = (lane: 'read' | 'send') =>
      void limiter.pass(patience, () => new Promise(() => started.push(lane)), lane);
    for (let index = 0; index < 10; index += 1) ask('send');
    await vi.advanceTimersByTimeAsync(0);
    for (let index = 0; index < 10; index += 1) ask('read');
    await vi.advanceTimersByTimeAsync(0);
    expect(started).toEqual(['send', 'send', 'read', 'read']);
  });

  it('take at most half of the starts in any second', async () => {
    const limiter = new RateLimiter({ concurrency: 100, perSecond: 4 });
    const started: string[] = [];
    const ask = (lane: 'read' | 'send') => limiter.pass(patience, async () => started.push(lane), lane);
    const asked = [...Array(8).keys()].map(() => ask('send'));
    await vi.advanceTimersByTimeAsync(0);
    asked.push(...[...Array(4).keys()].map(() => ask('read')));
    await vi.advanceTimersByTimeAsync(999);
    expect(started.toSorted()).toEqual(['read', 'read', 'send', 'send']);
    await vi.advanceTimersByTimeAsync(3_000);
    await Promise.all(asked);
    expect(started).toHaveLength(12);
  });

  it('start before reads that came later', async () => {
    const limiter = new RateLimiter({ concurrency: 1, perSecond: Number.POSITIVE_INFINITY });
    const started: string[] = [];
    const asked: Promise<unknown>[] = [];
    for (const lane of ['read', 'send', 'read', 'send'] as const) {
      asked.push(limiter.pass(patience, async () => started.push(lane), lane));
      await vi.advanceTimersByTimeAsync(0);
    }
    await Promise.all(asked);
    expect(started).toEqual(['read', 'send', 'read', 'send']);
  });
});
