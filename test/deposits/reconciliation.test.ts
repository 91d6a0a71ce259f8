import { MockActivityEnvironment } from '@temporalio/testing';
import { describe, expect, it } from 'vitest';
import { createReconciliation } from '../../src/activities/reconciliation.ts';
import type { AlertKind } from '../../src/domain/alerts.ts';
import type { ReconciledPage } from '../../src/domain/reconciliation.ts';
import { newAddress } from '../../src/localstack/keypair.ts';
import { auditIn, openAlertsIn } from './audit-support.ts';
import { useScanRoom } from './scan-room.ts';

const room = useScanRoom();
const openAlerts = (kind: AlertKind) => openAlertsIn(room, kind);

function reconcile(): Promise<ReconciledPage> {
  const activities = createReconciliation({ ...room.deps(), patienceMs: 0 });
  return new MockActivityEnvironment().run(() => activities.reconcilePage(null));
}

describe('the reconciliation', () => {
  it('agrees with the record at one slot, and tells of what the record does not have', async () => {
    await room.scanAll(room.scanner());
    const wallet = await room.newDepositAddress();
    await room.localnet.airdrop(wallet, 3_000_000n);
    await room.localnet.mintTo(room.localnet.feeMint.address, wallet, 1_000_000n);
    room.finalize();
    await room.scanAll(room.scanner());
    const before = await reconcile();
    expect(before.differences).toBe(0);
    expect(before.accounts).toBeGreaterThan(before.wallets);
    await room.ledger.db
      .deleteFrom('depositEvent')
      .where('depositId', 'in', (row) => row.selectFrom('deposit').select('id').where('wallet', '=', wallet))
      .execute();
    await room.ledger.db
      .deleteFrom('deposit')
      .where('wallet', '=', wallet)
      .where('asset', '=', 'SOL')
      .execute();
    expect((await reconcile()).differences).toBe(1);
    expect(await openAlerts('balance_difference')).toEqual([`${wallet}/SOL`]);
    const cursor = await room.ledger.scan.cursor();
    const to = (cursor?.slot ?? 0n).toString();
    await auditIn(room, { address: wallet, from: '1', to, repair: true, cause: 'operator' });
    expect((await reconcile()).differences).toBe(0);
    expect(await openAlerts('balance_difference')).toEqual([]);
  });

  it('says nothing of what no node shows, and keeps no other wallet waiting', async () => {
    const wallet = await room.newDepositAddress();
    await room.scanAll(room.scanner());
    const alarm = { kind: 'balance_difference' as const, subject: `${wallet}/SOL`, message: 'before' };
    await room.ledger.alerts.raise({ ...alarm, details: { wallet } });
    const { controls } = room.localnet;
    for (const node of [0, 1]) controls.setFault(node, 'getMultipleAccounts', { kind: 'null' });
    const { wallets, unread } = await reconcile();
    expect([wallets, unread > 0]).toEqual([0, true]);
    expect(await openAlerts('balance_difference')).toEqual([`${wallet}/SOL`]);
    controls.clearFaults();
    expect(await reconcile()).toMatchObject({ unread: 0, complete: true });
    expect(await openAlerts('balance_difference')).toEqual([]);
  });

  it('ends where the scan stands still', async () => {
    await room.newDepositAddress();
    await room.scanAll(room.scanner());
    room.finalize();
    expect(await reconcile()).toMatchObject({ complete: false, wallets: 0, next: null });
    await room.scanAll(room.scanner());
    expect(await reconcile()).toMatchObject({ complete: true });
  });

  it('goes from page to page, and leaves the alerts of other pages alone', async () => {
    const addresses = Array.from({ length: 250 }, newAddress);
    await room.ledger.addresses.import(addresses.map((address) => ({ address, path: 'm' })));
    await room.scanAll(room.scanner());
    const other = { kind: 'balance_difference' as const, subject: 'another', message: 'of another page' };
    await room.ledger.alerts.raise({ ...other, details: { wallet: 'another' } });
    const activities = createReconciliation({ ...room.deps(), patienceMs: 0 });
    const pages: ReconciledPage[] = [];
    do
      pages.push(
        await new MockActivityEnvironment().run(() => activities.reconcilePage(pages.at(-1)?.next ?? null)),
      );
    while (pages.at(-1)?.next !== null);
    const known = await room.ledger.watched.page(null, 10_000, 'deposit');
    expect(pages.map(({ wallets }) => wallets)).toEqual([100, 100, known.length - 200]);
    expect(await openAlerts('balance_difference')).toEqual(['another']);
  });
});
