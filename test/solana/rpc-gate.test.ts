import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { Gate } from '../../src/solana/rpc/gate.ts';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

const patience = new AbortController().signal;

it('starts no more in any second than allowed, in the order of asking', async () => {
  const gate = new Gate({ concurrency: 100, perSecond: 4 });
  const started: number[] = [];
  const all = Promise.all(
    Array.from({ length: 10 }, (_, index) => gate.pass(patience, async () => started.push(index))),
  );
  await vi.advanceTimersByTimeAsync(999);
  expect(started).toEqual([0, 1, 2, 3]);
  await vi.advanceTimersByTimeAsync(1);
  expect(started).toEqual([0, 1, 2, 3, 4, 5, 6, 7]);
  await vi.advanceTimersByTimeAsync(1_000);
  await all;
  expect(started).toHaveLength(10);
});

it('holds nothing up where the clock of the machine is set back', async () => {
  const gate = new Gate({ concurrency: 4, perSecond: 1 });
  await gate.pass(patience, async () => 'first');
  vi.setSystemTime(Date.now() - 3_600_000);
  const next = gate.pass(patience, async () => 'next');
  await vi.advanceTimersByTimeAsync(1_000);
  expect(await Promise.race([next, Promise.resolve('still waiting')])).toBe('next');
});

it('lets go of what waited too long, and never runs it', async () => {
  const gate = new Gate({ concurrency: 1, perSecond: Number.POSITIVE_INFINITY });
  let release = (): void => {};
  const first = gate.pass(patience, () => new Promise<void>((resolve) => (release = resolve)));
  const deadline = new AbortController();
  const late = vi.fn(async () => 'late');
  const waiting = gate.pass(deadline.signal, late);
  deadline.abort(new Error('too late'));
  await expect(waiting).rejects.toThrow('too late');
  release();
  await first;
  expect(await gate.pass(patience, async () => 'next')).toBe('next');
  expect(late).not.toHaveBeenCalled();
});

it('goes on after a request that failed', async () => {
  const gate = new Gate({ concurrency: 1, perSecond: Number.POSITIVE_INFINITY });
  await expect(gate.pass(patience, () => Promise.reject(new Error('broken')))).rejects.toThrow('broken');
  expect(await gate.pass(patience, async () => 'next')).toBe('next');
});
