import { Keypair, SystemProgram, TransactionMessage, VersionedTransaction } from '@solana/web3.js';
import { describe, expect, it } from 'vitest';
import { sendTransaction } from '../../src/solana/rpc/methods.ts';
import { latestBlockhash } from '../../src/solana/tx/blockhash.ts';
import { reconcileIn } from './audit-support.ts';
import { useScanFixture } from './scan-fixture.ts';

const fixture = useScanFixture();

const reconcile = (changes: { readonly isScanning?: boolean } = {}) => reconcileIn(fixture, changes);

/** A hot wallet that had SOL and tokens before its first reconciliation. */
async function fundedBefore(): Promise<Keypair> {
  const hot = Keypair.generate();
  const address = hot.publicKey.toBase58();
  await fixture.localnet.airdrop(address, 5_000_000_000n);
  await fixture.localnet.mintTo(fixture.localnet.feeMint.address, address, 9_000_000n);
  fixture.finalize();
  await fixture.ledger.watched.addHot([address]);
  return hot;
}

/** The wallet pays a stranger and the fee; then another wallet funds it. */
async function moves(hot: Keypair): Promise<void> {
  const { blockhash } = await latestBlockhash(fixture.pool);
  const toPubkey = Keypair.generate().publicKey;
  const message = new TransactionMessage({
    payerKey: hot.publicKey,
    recentBlockhash: blockhash,
    instructions: [SystemProgram.transfer({ fromPubkey: hot.publicKey, toPubkey, lamports: 1_000_000_000n })],
  });
  const transaction = new VersionedTransaction(message.compileToV0Message());
  transaction.sign([hot]);
  const raw = Buffer.from(transaction.serialize()).toString('base64');
  await fixture.pool.read((node) => sendTransaction(node, raw));
  await fixture.localnet.airdrop(hot.publicKey.toBase58(), 7_000_000n);
  await fixture.localnet.mintTo(fixture.localnet.mint.address, hot.publicKey.toBase58(), 3_000_000n);
  fixture.finalize();
}

async function differencesOf(hot: Keypair): Promise<readonly string[]> {
  const { rows } = await fixture.ledger.alerts.list({ open: true, limit: 100 });
  const wallet = hot.publicKey.toBase58();
  return rows
    .filter(({ kind, details }) => kind === 'balance_difference' && details.wallet === wallet)
    .map(({ message }) => message);
}

describe('the reconciliation of a hot wallet that is scanned', () => {
  it('compares its balance with its first balance and all movements since', async () => {
    await fixture.scanAll(fixture.scanner());
    const hot = await fundedBefore();
    const address = hot.publicKey.toBase58();
    await fixture.scanAll(fixture.scanner());
    expect(await reconcile()).toMatchObject({ complete: true, differences: 0, unread: 0 });
    const baseline = await fixture.ledger.baselines.of(address);
    expect(baseline?.balances).toHaveLength(2);
    // In the order of their assets, which differs from chain to chain.
    expect(baseline?.balances).toEqual(
      expect.arrayContaining([
        expect.objectContaining({ asset: fixture.localnet.feeMint.address, amount: 9_000_000n }),
        { account: address, asset: 'SOL', amount: 5_000_000_000n },
      ]),
    );
    await moves(hot);
    await fixture.scanAll(fixture.scanner());
    const { db } = fixture.ledger;
    const left = await db.deleteFrom('outflow').where('wallet', '=', address).returningAll().execute();
    expect(await reconcile()).toMatchObject({ differences: 1, unread: 0 });
    expect(await differencesOf(hot)).toEqual([
      expect.stringMatching(/holds 4006995000 base units of SOL .* add up to 5007000000$/),
    ]);
    expect(await fixture.ledger.baselines.of(address)).toEqual(baseline);
    await db.insertInto('outflow').values(left).execute();
    expect(await reconcile()).toMatchObject({ differences: 0, unread: 0 });
    const later = await fixture.ledger.baselines.of(address);
    expect(later?.slot).toBeGreaterThan(baseline?.slot ?? 0n);
    expect(later?.balances.find(({ asset }) => asset === 'SOL')?.amount).toBe(4_006_995_000n);
    // Movements before a baseline without differences are not summed up again.
    await db.deleteFrom('outflow').where('wallet', '=', address).execute();
    expect(await reconcile()).toMatchObject({ differences: 0, unread: 0 });
  });

  it('does not start at a slot after blocks that were not searched for it', async () => {
    const hot = await fundedBefore();
    const wallet = hot.publicKey.toBase58();
    const cursor = (await fixture.ledger.scan.cursor())?.slot ?? 0n;
    const balances = [{ account: wallet, asset: 'SOL', amount: 1n }];
    const take = (slot: bigint, replaces: bigint | null) =>
      fixture.ledger.baselines.take({ wallet, slot, balances, replaces });
    expect(await take(cursor - 1n, null)).toBe(false);
    expect(await take(cursor, null)).toBe(true);
    expect(await take(cursor + 1n, null)).toBe(false);
    expect((await fixture.ledger.baselines.of(wallet))?.slot).toBe(cursor);
    expect(await take(cursor + 1n, cursor)).toBe(true);
    expect((await fixture.ledger.baselines.of(wallet))?.slot).toBe(cursor + 1n);
  });
});

describe('the reconciliation of a hot wallet without a scan', () => {
  it('compares its balance from pass to pass with the transactions that nodes list', async () => {
    const hot = await fundedBefore();
    const address = hot.publicKey.toBase58();
    await fixture.newDepositAddress();
    const first = await reconcile({ isScanning: false });
    expect(first).toMatchObject({ complete: true, next: null });
    expect(first.wallets).toBe((await fixture.ledger.watched.page(null, 1_000, 'hot')).length);
    const before = await fixture.ledger.baselines.of(address);
    await moves(hot);
    const { controls } = fixture.localnet;
    for (const node of [0, 1])
      controls.setFault(node, 'getSignaturesForAddress', { kind: 'result', result: [] });
    await reconcile({ isScanning: false });
    expect(await differencesOf(hot)).toHaveLength(2);
    expect(await fixture.ledger.baselines.of(address)).toEqual(before);
    controls.clearFaults();
    await reconcile({ isScanning: false });
    expect(await differencesOf(hot)).toEqual([]);
    const after = await fixture.ledger.baselines.of(address);
    expect(after?.slot).toBeGreaterThan(before?.slot ?? 0n);
    expect(after?.balances.find(({ asset }) => asset === 'SOL')?.amount).toBe(4_006_995_000n);
  });
});

describe('the reconciliation before the first scan', () => {
  it('ends, and reports that it is incomplete', async () => {
    const { db } = fixture.ledger;
    await db.deleteFrom('scanCursor').execute();
    expect(await reconcile()).toMatchObject({ complete: false, wallets: 0, next: null });
  });
});
