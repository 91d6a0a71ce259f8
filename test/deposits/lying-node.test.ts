import { describe, expect, it } from 'vitest';
import type { DepositRow } from '../../src/ledger/deposits/deposit-row.ts';
import { useScanFixture } from './scan-fixture.ts';

const room = useScanFixture(3);

async function judgements(
  wallet: string,
): Promise<readonly Pick<DepositRow, 'amount' | 'state' | 'reason'>[]> {
  const rows = await room.depositsOf(wallet);
  return rows.map(({ amount, state, reason }) => ({ amount, state, reason }));
}

async function mismatches(): Promise<number> {
  const { rows } = await room.ledger.alerts.list({ open: true, limit: 100 });
  return rows.filter(({ kind }) => kind === 'deposit_mismatch').length;
}

describe('one lying node', () => {
  it.each([
    ['other-owner', 'owner_changed'],
    ['other-program', 'not_associated_account'],
  ] as const)('does not keep a valid deposit from its user: %s', async (lie, reason) => {
    const { mint } = room.localnet;
    await room.scanAll(room.scanner());
    const wallet = await room.newDepositAddress();
    await room.localnet.mintTo(mint.address, wallet, 1n);
    room.finalize();
    await room.scanAll(room.scanner());
    await room.confirm();
    const before = await mismatches();
    await room.localnet.mintTo(mint.address, wallet, 7n);
    await room.scanWithLie(lie);
    const [recorded] = await judgements(wallet);
    expect(recorded).toMatchObject({ state: 'pending', reason });
    const { events } = await room.ledger.depositFeed.events(0n, 100, { address: wallet });
    expect(events.map(({ kind }) => kind)).toEqual(['pending', 'final']);
    expect(await room.confirm()).toBe(1);
    expect((await judgements(wallet))[0]).toEqual({ amount: 7n, state: 'final', reason: null });
    expect(await mismatches()).toBe(before + 1);
  });

  it('does not turn a sweep of ours into a deposit of a user', async () => {
    const ours = await room.newSigner(1_000_000_000n);
    const wallet = await room.newDepositAddress();
    await room.sweep(ours, wallet, 9_000_000n);
    await room.scanWithLie('unsigned');
    expect(await judgements(wallet)).toEqual([{ amount: 9_000_000n, state: 'pending', reason: null }]);
    expect(await room.confirm()).toBe(1);
    expect(await judgements(wallet)).toEqual([
      { amount: 9_000_000n, state: 'not_credited', reason: 'internal' },
    ]);
  });

  it('hides no deposit', async () => {
    await room.scanAll(room.scanner());
    const wallet = await room.newDepositAddress();
    await room.localnet.airdrop(wallet, 7_000_000n);
    await room.scanWithLie('leave-out');
    expect(await judgements(wallet)).toEqual([{ amount: 7_000_000n, state: 'pending', reason: null }]);
  });

  it('does not stop the scan with an unreadable answer, and another node is asked', async () => {
    const { mint } = room.localnet;
    await room.scanAll(room.scanner());
    const wallet = await room.newDepositAddress();
    await room.localnet.mintTo(mint.address, wallet, 7n);
    await room.scanWithLie('garbled-mint');
    expect(await judgements(wallet)).toEqual([{ amount: 7n, state: 'pending', reason: null }]);
  });
});
