import { createTransferInstruction } from '@solana/spl-token';
import { Keypair, PublicKey, TransactionMessage, VersionedTransaction } from '@solana/web3.js';
import { MockActivityEnvironment } from '@temporalio/testing';
import { describe, expect, it } from 'vitest';
import { createAddressAudit } from '../../src/activities/address-audit.ts';
import { startDueAudits } from '../../src/activities/due-audits.ts';
import { createReconciliation } from '../../src/activities/reconciliation.ts';
import { type AuditedPage, type AuditOrder, type AuditReport, allOf } from '../../src/domain/audit.ts';
import type { ReconciledPage } from '../../src/domain/reconciliation.ts';
import { newAddress } from '../../src/localstack/keypair.ts';
import { deriveAta } from '../../src/solana/ata.ts';
import { latestBlockhash } from '../../src/solana/blockhash.ts';
import { TOKEN_PROGRAM } from '../../src/solana/programs.ts';
import { sendTransaction } from '../../src/solana/rpc/methods.ts';
import { useScanRoom } from './scan-room.ts';

const room = useScanRoom();

function audit(order: AuditOrder): Promise<AuditReport> {
  const activities = createAddressAudit(room.deps());
  return new MockActivityEnvironment().run(async () => {
    const pages: AuditedPage[] = [];
    do pages.push(await activities.auditPage(order, pages.at(-1)?.next ?? null));
    while (pages.at(-1)?.next !== null);
    await activities.closeAudit(order);
    return allOf(pages);
  });
}

function reconcile(): Promise<ReconciledPage> {
  const activities = createReconciliation({ ...room.deps(), patienceMs: 0 });
  return new MockActivityEnvironment().run(() => activities.reconcilePage(null));
}

/** The audits that the record waits for. */
async function dueAudits(): Promise<readonly AuditOrder[]> {
  const orders: AuditOrder[] = [];
  const startAudit = async (order: AuditOrder) => void orders.push(order);
  await startDueAudits({ ledger: room.ledger, runs: { startAudit } });
  return orders;
}

async function openAlerts(kind: string): Promise<readonly string[]> {
  const { rows } = await room.ledger.alerts.list({ open: true, limit: 100 });
  return rows.filter((row) => row.kind === kind).map(({ subject }) => subject);
}

/** A wallet that got SOL and tokens in blocks which the scan has passed without knowing it. */
async function paidUnseen(): Promise<string> {
  const wallet = newAddress();
  await room.localnet.airdrop(wallet, 4_000_000n);
  await room.localnet.mintTo(room.localnet.mint.address, wallet, 7_000_000n);
  room.finalize();
  await room.scanAll(room.scanner());
  return wallet;
}

async function assetsOf(wallet: string): Promise<ReadonlyMap<string, bigint>> {
  return new Map((await room.depositsOf(wallet)).map(({ asset, amount }) => [asset, amount]));
}

/** A transfer between token accounts, final: it names neither of their owners' wallets but the sender's. */
async function transferTokens(to: string, amount: bigint): Promise<void> {
  const payer = Keypair.generate();
  const from = payer.publicKey.toBase58();
  const { mint } = room.localnet;
  await room.localnet.airdrop(from, 1_000_000_000n);
  await room.localnet.mintTo(mint.address, from, amount);
  const account = (wallet: string) => new PublicKey(deriveAta(wallet, mint.address, TOKEN_PROGRAM));
  const { blockhash } = await latestBlockhash(room.pool);
  const message = new TransactionMessage({
    payerKey: payer.publicKey,
    recentBlockhash: blockhash,
    instructions: [createTransferInstruction(account(from), account(to), payer.publicKey, amount)],
  });
  const transaction = new VersionedTransaction(message.compileToV0Message());
  transaction.sign([payer]);
  const raw = Buffer.from(transaction.serialize()).toString('base64');
  await room.pool.read((node) => sendTransaction(node, raw));
  room.finalize();
}

describe('an address that was imported with a past', () => {
  it('is audited from that slot on, by wallet and token account, before it can be assigned', async () => {
    await room.scanAll(room.scanner());
    const since = (await room.ledger.scan.cursor())?.slot ?? 0n;
    const wallet = await paidUnseen();
    const unused = newAddress();
    const entries = [wallet, unused].map((address) => ({ address, path: `m/${address}` }));
    await room.ledger.addresses.import(entries, since);
    const orders = await dueAudits();
    expect(orders.map(({ address }) => address)).toEqual([wallet, unused]);
    for (const order of orders) await audit(order);
    expect(await assetsOf(wallet)).toEqual(
      new Map([
        ['SOL', 4_000_000n],
        [room.localnet.mint.address, 7_000_000n],
      ]),
    );
    expect((await room.ledger.addresses.byAddress(wallet))?.state).toBe('used');
    expect((await room.ledger.addresses.byAddress(unused))?.state).toBe('free');
    expect(await dueAudits()).toEqual([]);
    expect(await room.confirm()).toBe(2);
    for (const order of orders) expect((await audit(order)).missed).toEqual([]);
    expect((await room.depositsOf(wallet)).map(({ state }) => state)).toEqual(['final', 'final']);
  });

  it('is not called audited by one node with an empty list', async () => {
    await room.scanAll(room.scanner());
    const from = (await room.ledger.scan.cursor())?.slot ?? 0n;
    const wallet = await paidUnseen();
    await room.ledger.addresses.import([{ address: wallet, path: 'm' }], from);
    const [order] = await dueAudits();
    if (order === undefined) throw new Error('an audit is due');
    const { controls } = room.localnet;
    controls.setFault(0, 'getSignaturesForAddress', { kind: 'result', result: [] });
    expect((await audit(order)).missed).toHaveLength(2);
    controls.setFault(1, 'getSignaturesForAddress', { kind: 'error', code: -32020, message: 'unknown' });
    await expect(audit(order)).rejects.toThrow(/no quorum/);
  });
});

describe('a gap that was closed by hand', () => {
  it('is audited for every address, and what was missed is credited', async () => {
    await room.scanAll(room.scanner());
    const wallet = await room.newDepositAddress();
    const { controls } = room.localnet;
    const from = controls.produceSlot();
    await room.localnet.airdrop(wallet, 8_000_000n);
    const to = controls.produceSlot();
    room.finalize();
    for (const node of [0, 1]) controls.setFault(node, 'getBlock', { kind: 'hole', from, to });
    await room.scanAll(room.scanner());
    const gap = await room.openGap();
    const range = { from: gap?.fromSlot ?? 0n, to: gap?.toSlot ?? 0n };
    await room.ledger.gaps.close({ ...range, who: 'operator', why: 'lost' });
    await room.scanAll(room.scanner());
    expect((await assetsOf(wallet)).size).toBe(0);
    const [order] = await dueAudits();
    if (order === undefined) throw new Error('an audit is due');
    expect(order).toMatchObject({ address: null, cause: 'gap', to: String(to) });
    expect((await audit(order)).missed).toMatchObject([{ account: wallet, amount: '8000000' }]);
    expect(await assetsOf(wallet)).toEqual(new Map([['SOL', 8_000_000n]]));
    expect(await openAlerts('deposit_missed')).toHaveLength(1);
    expect(await dueAudits()).toEqual([]);
  });
});

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
    await audit({ address: wallet, from: '1', to, repair: true, cause: 'operator' });
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

describe('an audit', () => {
  it('asks for token accounts by themselves, as a transfer to one does not name its wallet', async () => {
    await room.scanAll(room.scanner());
    const wallet = await room.newDepositAddress();
    await room.localnet.mintTo(room.localnet.mint.address, wallet, 1_000_000n);
    await transferTokens(wallet, 2_500_000n);
    await room.scanAll(room.scanner());
    const [newest] = await room.depositsOf(wallet);
    expect(newest?.amount).toBe(2_500_000n);
    const id = newest?.id ?? 0n;
    await room.ledger.db.deleteFrom('depositEvent').where('depositId', '=', id).execute();
    await room.ledger.db.deleteFrom('deposit').where('id', '=', id).execute();
    const to = (await room.ledger.scan.cursor())?.slot.toString() ?? '';
    const order: AuditOrder = { address: wallet, from: '1', to, repair: false, cause: 'operator' };
    expect((await audit(order)).missed).toMatchObject([{ amount: '2500000' }]);
    expect(await room.depositsOf(wallet)).toHaveLength(1);
    await audit({ ...order, repair: true });
    expect((await room.depositsOf(wallet)).map(({ amount }) => amount)).toEqual([2_500_000n, 1_000_000n]);
  });
});
