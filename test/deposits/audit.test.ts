import {
  createBurnInstruction,
  createCloseAccountInstruction,
  createTransferInstruction,
} from '@solana/spl-token';
import {
  Keypair,
  PublicKey,
  type TransactionInstruction,
  TransactionMessage,
  VersionedTransaction,
} from '@solana/web3.js';
import { describe, expect, it } from 'vitest';
import { newAddress } from '../../devkit/localstack/keypair.ts';
import type { AlertKind } from '../../src/domain/alerts.ts';
import type { AuditCommand } from '../../src/domain/audit.ts';
import { sendTransaction } from '../../src/solana/rpc/methods.ts';
import { deriveAta } from '../../src/solana/tokens/ata.ts';
import { latestBlockhash } from '../../src/solana/tx/blockhash.ts';
import { TOKEN_PROGRAM } from '../../src/solana/tx/programs.ts';
import { auditIn, dueAuditsIn, newSignature, openAlertsIn } from './audit-support.ts';
import { useScanFixture } from './scan-fixture.ts';

const fixture = useScanFixture();

const audit = (order: AuditCommand) => auditIn(fixture, order);
const openAlerts = (kind: AlertKind) => openAlertsIn(fixture, kind);
const dueAudits = () => dueAuditsIn(fixture);

/** A wallet that was paid SOL and tokens in blocks that were scanned before it was watched. */
async function paidUnseen(): Promise<string> {
  const wallet = newAddress();
  await fixture.localnet.airdrop(wallet, 4_000_000n);
  await fixture.localnet.mintTo(fixture.localnet.mint.address, wallet, 7_000_000n);
  fixture.finalize();
  await fixture.scanAll(fixture.scanner());
  return wallet;
}

async function assetsOf(wallet: string): Promise<ReadonlyMap<string, bigint>> {
  return new Map((await fixture.depositsOf(wallet)).map(({ asset, amount }) => [asset, amount]));
}

/** A finalized transfer between token accounts: of the wallets, it names the sender's only. */
async function transferTokens(to: string, amount: bigint): Promise<void> {
  const payer = Keypair.generate();
  const from = payer.publicKey.toBase58();
  const { mint } = fixture.localnet;
  await fixture.localnet.airdrop(from, 1_000_000_000n);
  await fixture.localnet.mintTo(mint.address, from, amount);
  const account = (wallet: string) => new PublicKey(deriveAta(wallet, mint.address, TOKEN_PROGRAM));
  await land(payer, [createTransferInstruction(account(from), account(to), payer.publicKey, amount)]);
}

function fail(): never {
  throw new Error('the mint is listed before the first test');
}

async function land(payer: Keypair, instructions: TransactionInstruction[]): Promise<void> {
  const { blockhash } = await latestBlockhash(fixture.pool);
  const message = new TransactionMessage({
    payerKey: payer.publicKey,
    recentBlockhash: blockhash,
    instructions,
  });
  const transaction = new VersionedTransaction(message.compileToV0Message());
  transaction.sign([payer]);
  const raw = Buffer.from(transaction.serialize()).toString('base64');
  await fixture.pool.read((node) => sendTransaction(node, raw));
  fixture.finalize();
}

describe('an address that was imported with a past', () => {
  it('is audited from the first slot of that past, by wallet and token account, before it can be assigned', async () => {
    await fixture.scanAll(fixture.scanner());
    const since = (await fixture.ledger.scan.cursor())?.slot ?? 0n;
    const wallet = await paidUnseen();
    const unused = newAddress();
    const entries = [wallet, unused].map((address) => ({ address, path: `m/${address}` }));
    await fixture.ledger.addresses.import(entries, since);
    const orders = await dueAudits();
    expect(orders.map(({ address }) => address)).toEqual([wallet, unused]);
    for (const order of orders) await audit(order);
    expect(await assetsOf(wallet)).toEqual(
      new Map([
        ['SOL', 4_000_000n],
        [fixture.localnet.mint.address, 7_000_000n],
      ]),
    );
    expect((await fixture.ledger.addresses.byAddress(unused))?.state).toBe('free');
    expect(await dueAudits()).toEqual([]);
    expect(await fixture.confirm()).toBe(2);
    expect((await fixture.ledger.addresses.byAddress(wallet))?.state).toBe('used');
    for (const order of orders) expect((await audit(order)).differences).toEqual([]);
    expect((await fixture.depositsOf(wallet)).map(({ state }) => state)).toEqual(['final', 'final']);
  });

  it('is not audited by an empty list of one node', async () => {
    await fixture.scanAll(fixture.scanner());
    const from = (await fixture.ledger.scan.cursor())?.slot ?? 0n;
    const wallet = await paidUnseen();
    await fixture.ledger.addresses.import([{ address: wallet, path: 'm' }], from);
    const [order] = await dueAudits();
    if (order === undefined) throw new Error('an audit is due');
    const { controls } = fixture.localnet;
    controls.setFault(0, 'getSignaturesForAddress', { kind: 'result', result: [] });
    expect(await audit(order)).toMatchObject({ found: 2, remaining: 0 });
    controls.setFault(1, 'getSignaturesForAddress', { kind: 'error', code: -32020, message: 'unknown' });
    expect(await audit(order)).toMatchObject({ transactions: 0, unread: 1 });
    expect(await openAlerts('audit_incomplete')).toEqual([wallet]);
    controls.clearFaults();
    expect(await audit(order)).toMatchObject({ unread: 0 });
    expect(await openAlerts('audit_incomplete')).toEqual([]);
  });
});

describe('an audit with incomplete nodes', () => {
  /** An address that was paid in the past, and its due audit. */
  async function due(): Promise<{ readonly wallet: string; readonly order: AuditCommand }> {
    await fixture.scanAll(fixture.scanner());
    const from = (await fixture.ledger.scan.cursor())?.slot ?? 0n;
    const wallet = await paidUnseen();
    await fixture.ledger.addresses.import([{ address: wallet, path: 'm' }], from);
    const order = (await dueAudits()).find(({ address }) => address === wallet);
    if (order === undefined) throw new Error('an audit is due');
    return { wallet, order };
  }

  async function stateOf(wallet: string): Promise<string | undefined> {
    return (await fixture.ledger.addresses.byAddress(wallet))?.state;
  }

  it('does not complete by lists of nodes that pruned those slots, and completes by a quorum that has them', async () => {
    const { wallet, order } = await due();
    const { controls } = fixture.localnet;
    const forgets = { kind: 'history-from', slot: Number(order.to) + 1 } as const;
    for (const node of [0, 1]) controls.setFault(node, 'getFirstAvailableBlock', forgets);
    for (const node of [0, 1])
      controls.setFault(node, 'getSignaturesForAddress', { kind: 'result', result: [] });
    expect(await audit(order)).toMatchObject({ unread: 1, found: 0 });
    expect(await stateOf(wallet)).toBe('auditing');
    expect(await openAlerts('audit_incomplete')).toEqual([`since ${order.from}`]);
    controls.clearFaults();
    controls.setFault(0, 'getFirstAvailableBlock', forgets);
    expect(await audit(order)).toMatchObject({ unread: 1, found: 2, remaining: 0 });
    expect([await stateOf(wallet), (await assetsOf(wallet)).size]).toEqual(['auditing', 2]);
    controls.clearFaults();
    expect(await audit(order)).toMatchObject({ unread: 0, found: 0 });
    await fixture.confirm();
    expect(await stateOf(wallet)).toBe('used');
    expect(await openAlerts('audit_incomplete')).toEqual([]);
  });

  it('records what nodes return, waits for transactions that nodes list and do not return, and delays no other address', async () => {
    const { wallet, order } = await due();
    const { controls } = fixture.localnet;
    const slot = Number(order.to) - 1;
    const made = { signature: newSignature(), slot, err: null, memo: null, blockTime: 1 };
    const listed = { ...made, confirmationStatus: 'finalized' };
    controls.setFault(0, 'getSignaturesForAddress', { kind: 'result', result: [listed] });
    // Only a node that has the block of that slot can report that the transaction is not in it.
    controls.setFault(1, 'getBlock', { kind: 'hole', from: slot, to: slot });
    expect(await audit(order)).toMatchObject({ found: 2, remaining: 0, unread: 1, transactions: 3 });
    expect((await assetsOf(wallet)).size).toBe(2);
    expect(await openAlerts('audit_incomplete')).toEqual([wallet]);
    expect([await stateOf(wallet), await dueAudits()]).toEqual(['auditing', [order]]);
    controls.clearFaults();
    await fixture.confirm();
    expect([await stateOf(wallet), await dueAudits()]).toEqual(['used', [order]]);
    expect(await audit(order)).toMatchObject({ found: 0, unread: 0 });
    expect(await stateOf(wallet)).toBe('used');
    expect(await dueAudits()).toEqual([]);
  });
});

describe('an audit', () => {
  it('requests the history of each token account, as a token transfer does not name the wallet', async () => {
    await fixture.scanAll(fixture.scanner());
    const wallet = await fixture.newDepositAddress();
    await fixture.localnet.mintTo(fixture.localnet.mint.address, wallet, 1_000_000n);
    await transferTokens(wallet, 2_500_000n);
    await fixture.scanAll(fixture.scanner());
    const [newest] = await fixture.depositsOf(wallet);
    expect(newest?.amount).toBe(2_500_000n);
    await fixture.lose(newest === undefined ? [] : [newest]);
    const to = (await fixture.ledger.scan.cursor())?.slot.toString() ?? '';
    const order: AuditCommand = { address: wallet, from: '1', to, repair: false, cause: 'operator' };
    expect(await audit(order)).toMatchObject({ differences: [{ chain: '2500000' }], remaining: 1 });
    expect(await fixture.depositsOf(wallet)).toHaveLength(1);
    await audit({ ...order, repair: true });
    expect((await fixture.depositsOf(wallet)).map(({ amount }) => amount)).toEqual([2_500_000n, 1_000_000n]);
  });

  it('finds token accounts that were closed since by the transfers to them', async () => {
    const { asset, ...terms } = (await fixture.ledger.assets.get(fixture.localnet.mint.address)) ?? fail();
    const owner = Keypair.generate();
    const wallet = owner.publicKey.toBase58();
    await fixture.ledger.addresses.import([{ address: wallet, path: 'm/closed' }]);
    await fixture.localnet.airdrop(wallet, 1_000_000_000n);
    await fixture.localnet.mintTo(asset, wallet, 1_000_000n);
    fixture.finalize();
    const account = new PublicKey(deriveAta(wallet, asset, TOKEN_PROGRAM));
    await land(owner, [
      createBurnInstruction(account, new PublicKey(asset), owner.publicKey, 1_000_000n),
      createCloseAccountInstruction(account, owner.publicKey, owner.publicKey),
    ]);
    await fixture.scanAll(fixture.scanner());
    await fixture.ledger.db.deleteFrom('asset').where('asset', '=', asset).execute();
    const to = (await fixture.ledger.scan.cursor())?.slot.toString() ?? '';
    const report = await audit({ address: wallet, from: '1', to, repair: false, cause: 'operator' });
    await fixture.ledger.assets.put({ asset, ...terms });
    expect(report).toMatchObject({ found: 0, unread: 0 });
    expect((await assetsOf(wallet)).get(asset)).toBe(1_000_000n);
  });
});
