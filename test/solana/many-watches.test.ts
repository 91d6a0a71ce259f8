import { afterEach, describe, expect, it, vi } from 'vitest';
import { newAddress } from '../../devkit/localstack/keypair.ts';
import { LandingWatcher } from '../../src/solana/proof/landing.ts';
import type { AttemptProgress, WatchedAttempt } from '../../src/solana/proof/watch.ts';
import { NodeFault } from '../../src/solana/rpc/errors.ts';
import { until } from '../support/until.ts';
import { INTERVALS, recordProgress, useLandingFixture } from './landing-fixture.ts';

const fixture = useLandingFixture();

afterEach(() => vi.restoreAllMocks());

/** The waits for these, each with its own signal, and a function that ends them all. */
function watchAll(
  watcher: LandingWatcher,
  attempts: readonly WatchedAttempt[],
  start?: AttemptProgress,
): [Promise<unknown>[], () => void] {
  const recorders = attempts.map(() => recordProgress());
  const waits = recorders.map(({ hooks }, index) =>
    watcher.watch(attempts[index] as WatchedAttempt, hooks, start),
  );
  return [
    waits,
    () => {
      for (const { abort } of recorders) abort.abort();
    },
  ];
}

describe('a watcher of many attempts that no node confirms', () => {
  it('resends a few of them at a time in turn, and new ones at once', async () => {
    const [attempts, resendsPerSecond] = [12, 10];
    const watcher = new LandingWatcher(fixture.chain, { ...INTERVALS, resendMs: 20, resendsPerSecond });
    const all = await Promise.all(
      Array.from({ length: attempts }, () => fixture.attempt(newAddress(), 1_000_000n)),
    );
    const rounds: number[][] = [[]];
    vi.spyOn(fixture.chain, 'send').mockImplementation(async (raw) => {
      rounds.at(-1)?.push(all.findIndex((attempt) => attempt.raw === raw));
      return [];
    });
    const statuses = fixture.chain.recentStatuses.bind(fixture.chain);
    vi.spyOn(fixture.chain, 'recentStatuses').mockImplementation((signatures) => {
      rounds.push([]);
      return statuses(signatures);
    });
    const [waits, end] = watchAll(watcher, all);
    await until(() => rounds.flat().length >= 3 * attempts);
    end();
    await Promise.allSettled(waits);
    const [first = [], ...others] = rounds;
    expect(Math.max(...others.map((round) => round.length))).toBeLessThanOrEqual(resendsPerSecond);
    const inTurn = [...all.keys()];
    expect(first.slice(0, attempts)).toEqual(inTurn);
    const again = [...first.slice(attempts), ...others.flat()];
    expect(again.slice(0, attempts)).toEqual(inTurn);
    expect(again.slice(attempts, 2 * attempts)).toEqual(inTurn);
  });

  it('requests all of them at once, more than fit into the arguments of a function', async () => {
    const watcher = new LandingWatcher(fixture.chain, INTERVALS);
    const attempt = await fixture.attempt(newAddress(), 1_000_000n);
    let [asked, open, most] = [0, 0, 0];
    vi.spyOn(fixture.chain, 'recentStatuses').mockImplementation(async (signatures) => {
      asked += signatures.length;
      open += 1;
      most = Math.max(most, open);
      await new Promise(setImmediate);
      open -= 1;
      throw new NodeFault('node', 'does not answer');
    });
    const count = 130_000;
    const all = Array.from({ length: count }, () => attempt);
    const [waits, end] = watchAll(watcher, all, { status: 'confirmed', reason: null });
    await until(() => asked >= count);
    expect(most).toBeGreaterThan(1);
    end();
    await Promise.allSettled(waits);
  });
});
