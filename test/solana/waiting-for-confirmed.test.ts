import { afterEach, describe, expect, it, vi } from 'vitest';
import { newAddress } from '../../devkit/localstack/keypair.ts';
import { LandingWatcher } from '../../src/solana/proof/landing.ts';
import { until } from '../support/until.ts';
import { recordProgress, useLandingFixture } from './landing-fixture.ts';
import { recordCalls } from './rpc-calls.ts';

const HOUR_MS = 3_600_000;
const fixture = useLandingFixture();

afterEach(() => vi.restoreAllMocks());

/** A watcher that polls hourly, and often only while a caller waits for `confirmed`. */
const patient = () =>
  new LandingWatcher(fixture.chain, { pollMs: HOUR_MS, awaitedPollMs: 10, resendMs: 60_000 });

describe('a caller that waits for confirmed', () => {
  it('is polled for at its own interval, which ends with the answer', async () => {
    const watcher = patient();
    const [slow, fast] = [recordProgress(), recordProgress()];
    const asked: string[] = [];
    const stop = recordCalls(fixture.pool, asked);
    const polls = () => asked.filter((method) => method === 'getSignatureStatuses').length;
    const other = watcher.watch(await fixture.attempt(newAddress(), 5_000_000n), slow.hooks);
    expect(polls()).toBe(0);
    const awaited = { ...fast.hooks, answersAt: 'confirmed' as const };
    const wait = watcher.watch(await fixture.attempt(newAddress(), 5_000_000n), awaited);
    await fixture.withBlocks(until(() => fast.progress.includes('confirmed')));
    expect(slow.progress).toContain('confirmed');
    const before = polls();
    await new Promise((resolve) => setTimeout(resolve, 200));
    expect(polls() - before).toBeLessThanOrEqual(1);
    stop();
    for (const { abort } of [slow, fast]) abort.abort();
    await Promise.allSettled([other, wait]);
  });

  it('costs no request of its own, because one poll serves all callers', async () => {
    const watcher = patient();
    const waits = await Promise.all(
      Array.from({ length: 12 }, async () => {
        const { progress, hooks, abort } = recordProgress();
        const sent = await fixture.attempt(newAddress(), 5_000_000n);
        return { progress, abort, start: () => watcher.watch(sent, { ...hooks, answersAt: 'confirmed' }) };
      }),
    );
    const sizes: number[] = [];
    const statuses = fixture.chain.recentStatuses.bind(fixture.chain);
    vi.spyOn(fixture.chain, 'recentStatuses').mockImplementation((signatures) => {
      sizes.push(signatures.length);
      return statuses(signatures);
    });
    const running = waits.map(({ start }) => start());
    await fixture.withBlocks(until(() => waits.every(({ progress }) => progress.includes('confirmed'))));
    expect(new Set(sizes)).toEqual(new Set([12]));
    for (const { abort } of waits) abort.abort();
    await Promise.allSettled(running);
  });

  it('receives no confirmation for an attempt that failed in its block, and the attempt is not resent', async () => {
    const funds = await fixture.lamportsOf(fixture.signer.address);
    const [first, second] = [
      await fixture.attempt(newAddress(), (funds * 2n) / 3n),
      await fixture.attempt(newAddress(), (funds * 2n) / 3n),
    ];
    const { hooks, progress } = recordProgress();
    const before = fixture.watcher.watch(first, recordProgress().hooks);
    const sent = vi.spyOn(fixture.chain, 'send');
    const wait = fixture.watcher.watch(second, { ...hooks, answersAt: 'confirmed' });
    expect((await fixture.withBlocks(wait)).verdict.kind).toBe('failed');
    expect(progress).not.toContain('confirmed');
    expect(sent.mock.calls.length).toBeLessThanOrEqual(2);
    await fixture.withBlocks(before);
  });

  it('continues to finalized without a resend of a confirmed attempt, and resends the same bytes after a fork', async () => {
    const sent = await fixture.attempt(newAddress(), 5_000_000n);
    await fixture.chain.send(sent.raw);
    fixture.localnet.controls.produceSlots(2);
    const send = vi.spyOn(fixture.chain, 'send');
    const { hooks, progress } = recordProgress();
    const wait = fixture.watcher.watch(sent, hooks, { status: 'confirmed', reason: null });
    fixture.localnet.controls.produceSlot();
    await new Promise((resolve) => setTimeout(resolve, 150));
    expect(send).not.toHaveBeenCalled();
    fixture.localnet.controls.fork(3);
    await until(() => progress.includes('sending'));
    await until(() => send.mock.calls.length > 0);
    expect(send.mock.calls[0]?.[0]).toBe(sent.raw);
    expect((await fixture.withBlocks(wait)).verdict.kind).toBe('landed');
  });
});
