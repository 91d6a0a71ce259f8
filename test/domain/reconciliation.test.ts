import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  agreedOn,
  behindAlarm,
  differencesOf,
  type Holding,
  type WalletView,
} from '../../src/domain/reconciliation.ts';

const ACCOUNTS = ['wallet', 'token account', 'another'];
const amounts = fc.array(fc.bigInt({ min: 0n, max: 5n }), { minLength: 3, maxLength: 3 });

/** Nodes at different slots of a chain with an inflow in each slot; the database lacks a part of the inflows. */
const scene = fc
  .record({
    nodes: fc.integer({ min: 2, max: 7 }),
    movements: fc.array(amounts, { minLength: 7, maxLength: 7 }),
    missed: amounts,
    pending: fc.subarray(ACCOUNTS),
  })
  .chain(({ nodes, ...chain }) => {
    const quorum = Math.max(2, Math.floor(nodes / 2) + 1);
    const liars = Math.min(quorum - 1, nodes - quorum);
    const lie = fc.record({ slot: fc.nat(9), holds: amounts, pending: fc.subarray(ACCOUNTS) });
    return fc.record({
      quorum: fc.constant(quorum),
      chain: fc.constant(chain),
      slots: fc.array(fc.nat(6), { minLength: nodes - liars, maxLength: nodes - liars }),
      lies: fc.array(lie, { minLength: liars, maxLength: liars }),
    });
  });

type Scene = typeof scene extends fc.Arbitrary<infer T> ? T : never;

function recorded({ chain }: Scene, slot: number): readonly Holding[] {
  return chain.movements
    .slice(0, slot + 1)
    .flatMap((moved) => moved.map((amount, at) => ({ account: ACCOUNTS[at] ?? '', asset: 'SOL', amount })));
}

function viewOf(
  one: Scene,
  slot: number,
  holdings: readonly Holding[],
  pending: readonly string[],
): WalletView {
  const differences = differencesOf(holdings, recorded(one, slot));
  return { slot: BigInt(slot), differences, pending, frozen: [], nested: [] };
}

function missedIn({ chain }: Scene): readonly Holding[] {
  return chain.missed.map((amount, at) => ({ account: ACCOUNTS[at] ?? '', asset: 'SOL', amount }));
}

function honestViews(one: Scene): readonly WalletView[] {
  return one.slots.map((slot) =>
    viewOf(one, slot, [...recorded(one, slot), ...missedIn(one)], one.chain.pending),
  );
}

function falseViews(one: Scene): readonly WalletView[] {
  return one.lies.map(({ slot, holds, pending }) =>
    viewOf(
      one,
      slot,
      holds.map((amount, at) => ({ account: ACCOUNTS[at] ?? '', asset: 'SOL', amount })),
      pending,
    ),
  );
}

/** By how much each account differs, as all honest nodes see it. */
const excessesOf = (view: WalletView | null): readonly string[] | undefined =>
  view?.differences.map(({ account, chain, stored }) => `${account} ${chain - stored}`).toSorted();

function truthOf(one: Scene): readonly string[] {
  return missedIn(one)
    .filter(({ amount }) => amount > 0n)
    .map(({ account, amount }) => `${account} ${amount}`)
    .toSorted();
}

describe('the difference that a quorum agrees on', () => {
  it('is the difference between chain and database, whatever a minority returns, at whatever slots the nodes are', () => {
    fc.assert(
      fc.property(scene, (one) => {
        for (const views of [
          [...falseViews(one), ...honestViews(one)],
          [...honestViews(one), ...falseViews(one)],
        ]) {
          const agreed = agreedOn(one.quorum, views);
          expect(excessesOf(agreed)).toEqual(truthOf(one));
          expect(agreed?.pending).toEqual(one.chain.pending);
        }
      }),
    );
  });

  it('is true or absent when some nodes do not answer', () => {
    fc.assert(
      fc.property(scene, fc.nat(6), (one, silent) => {
        const agreed = agreedOn(one.quorum, [...falseViews(one), ...honestViews(one).slice(silent)]);
        if (agreed !== null) expect(excessesOf(agreed)).toEqual(truthOf(one));
      }),
    );
  });

  it('is reported at the newest slot of the agreeing nodes', () => {
    const at = (slot: bigint): WalletView => ({ slot, differences: [], pending: [], frozen: [], nested: [] });
    expect(agreedOn(2, [at(5n), at(9n), at(7n)])?.slot).toBe(9n);
    expect(agreedOn(2, [at(5n)])).toBeNull();
  });
});

describe('the alert about accounts that are not compared', () => {
  const NOW = new Date('2026-01-10T00:00:00Z');
  const ago = (hours: number): Date => new Date(NOW.getTime() - hours * 3_600_000);
  const well = { comparedSince: ago(48), after: null, unread: 0, longest: null };

  it('opens when the comparison of all accounts takes longer than two days', () => {
    expect(behindAlarm(well, NOW)).toBeNull();
    const late = { ...well, comparedSince: ago(48.1), after: 'wallet-17' };
    expect(behindAlarm(late, NOW)?.message).toMatch(
      /only wallets up to wallet-17 were compared since .*01-07T23:54/,
    );
  });

  it('opens when one account cannot be compared for three hours', () => {
    const unreadFor = (hours: number) => ({
      ...well,
      unread: 2,
      longest: { wallet: 'wallet-3', since: ago(hours), reason: 'because' },
    });
    expect(behindAlarm(unreadFor(3), NOW)).toBeNull();
    expect(behindAlarm(unreadFor(3.1), NOW)).toMatchObject({
      kind: 'reconciliation_behind',
      subject: 'sluice',
      message: expect.stringMatching(
        /2 wallets could not be compared; wallet wallet-3 has waited since .*: because$/,
      ),
    });
  });
});
