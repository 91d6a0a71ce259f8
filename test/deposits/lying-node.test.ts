import { describe, expect, it } from 'vitest';
import type { DepositRow } from '../../src/ledger/deposits/deposit-row.ts';
import { useScanFixture } from './scan-fixture.ts';

const fixture = useScanFixture(3);

async function judgements(
  wallet: string,
): Promise<readonly Pick<DepositRow, 'amount' | 'state' | 'reason'>[]> {
  const rows = await fixture.depositsOf(wallet);
  return rows.map(({ amount, state, reason }) => ({ amount, state, reason }));
}

async function mismatches(): Promise<number> {
  const { rows } = await fixture.ledger.alerts.list({ open: true, limit: 100 });
  return rows.filter(({ kind }) => kind === 'deposit_mismatch').length;
}

describe('one lying node', () => {
  it.each([
    ['other-owner', 'owner_changed'],
    ['other-program', 'not_associated_account'],
  ] as const)('does not keep a valid deposit from its user: %s', async (lie, reason) => {
    const { mint } = fixture.localnet;
    await fixture.scanAll(fixture.scanner());
    const wallet = await fixture.newDepositAddress();
    await fixture.localnet.mintTo(mint.address, wallet, 1n);
    fixture.finalize();
    await fixture.scanAll(fixture.scanner());
    await fixture.confirm();
    const before = await mismatches();
    await fixture.localnet.mintTo(mint.address, wallet, 7n);
    await fixture.scanWithLie(lie);
    const [recorded] = await judgements(wallet);
    expect(recorded).toMatchObject({ state: 'pending', reason });
    const { events } = await fixture.ledger.depositFeed.events(0n, 100, { address: wallet });
    expect(events.map(({ kind }) => kind)).toEqual(['pending', 'final']);
    expect(await fixture.confirm()).toBe(1);
    expect((await judgements(wallet))[0]).toEqual({ amount: 7n, state: 'final', reason: null });
    expect(await mismatches()).toBe(before + 1);
  });

  it('does not turn a sweep of ours into a deposit of a user', async () => {
    const ours = await fixture.newSigner(1_000_000_000n);
    const wallet = await fixture.newDepositAddress();
    await fixture.sweep(ours, wallet, 9_000_000n);
    await fixture.scanWithLie('unsigned');
    expect(await judgements(wallet)).toEqual([{ amount: 9_000_000n, state: 'pending', reason: null }]);
    expect(await fixture.confirm()).toBe(1);
    expect(await judgements(wallet)).toEqual([
      { amount: 9_000_000n, state: 'not_credited', reason: 'internal' },
    ]);
  });

  it('hides no deposit', async () => {
    await fixture.scanAll(fixture.scanner());
    const wallet = await fixture.newDepositAddress();
    await fixture.localnet.airdrop(wallet, 7_000_000n);
    await fixture.scanWithLie('leave-out');
    expect(await judgements(wallet)).toEqual([{ amount: 7_000_000n, state: 'pending', reason: null }]);
  });

  it('does not stop the scan with an unreadable answer, and another node is asked', async () => {
    const { mint } = fixture.localnet;
    await fixture.scanAll(fixture.scanner());
    const wallet = await fixture.newDepositAddress();
    await fixture.localnet.mintTo(mint.address, wallet, 7n);
    await fixture.scanWithLie('garbled-mint');
    expect(await judgements(wallet)).toEqual([{ amount: 7n, state: 'pending', reason: null }]);
  });
});
