import { Keypair, PublicKey, SystemProgram, TransactionMessage, VersionedTransaction } from '@solana/web3.js';
import { describe, expect, it } from 'vitest';
import type { DepositRow } from '../../src/ledger/deposit-row.ts';
import type { Lie } from '../../src/localnet/rpc/false-block.ts';
import { latestBlockhash } from '../../src/solana/blockhash.ts';
import { sendTransaction } from '../../src/solana/rpc/methods.ts';
import { useScanRoom } from './scan-room.ts';

const room = useScanRoom(3);

/** Reads what was sent while the node that is asked first tells a lie of every block; it is honest when it is asked again. */
async function scanWithLie(lie: Lie): Promise<void> {
  room.finalize();
  room.localnet.controls.setFault(0, 'getBlock', { kind: 'false-block', lie });
  await room.scanAll(room.scanner());
  room.localnet.controls.clearFaults();
}

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

/** A transfer that a wallet of ours signs, and pays for. */
async function sweep(from: Keypair, to: string, lamports: bigint): Promise<void> {
  const { blockhash } = await latestBlockhash(room.pool);
  const transfer = SystemProgram.transfer({
    fromPubkey: from.publicKey,
    toPubkey: new PublicKey(to),
    lamports,
  });
  const message = { payerKey: from.publicKey, recentBlockhash: blockhash, instructions: [transfer] };
  const transaction = new VersionedTransaction(new TransactionMessage(message).compileToV0Message());
  transaction.sign([from]);
  const bytes = Buffer.from(transaction.serialize()).toString('base64');
  await room.pool.read((node) => sendTransaction(node, bytes));
}

describe('the word of one node', () => {
  it.each([
    ['other-owner', 'owner_changed'],
    ['other-program', 'not_associated_account'],
  ] as const)('keeps no user from a good deposit: %s', async (lie, reason) => {
    const { mint } = room.localnet;
    await room.scanAll(room.scanner());
    const wallet = await room.newDepositAddress();
    await room.localnet.mintTo(mint.address, wallet, 1n);
    room.finalize();
    await room.scanAll(room.scanner());
    await room.confirm();
    const before = await mismatches();
    await room.localnet.mintTo(mint.address, wallet, 7n);
    await scanWithLie(lie);
    const [told] = await judgements(wallet);
    expect(told).toMatchObject({ state: 'pending', reason });
    const events = await room.ledger.depositFeed.events(0n, 100, { address: wallet });
    expect(events.map(({ kind }) => kind)).toEqual(['pending', 'final']);
    expect(await room.confirm()).toBe(1);
    expect((await judgements(wallet))[0]).toEqual({ amount: 7n, state: 'final', reason: null });
    expect(await mismatches()).toBe(before + 1);
  });

  it('makes no sweep of ours the money of a user', async () => {
    await room.scanAll(room.scanner());
    const ours = Keypair.generate();
    const address = ours.publicKey.toBase58();
    await room.ledger.addresses.import([{ address, path: 'm/ours' }]);
    const wallet = await room.newDepositAddress();
    await room.localnet.airdrop(address, 1_000_000_000n);
    room.finalize();
    await room.scanAll(room.scanner());
    await room.confirm();
    await sweep(ours, wallet, 9_000_000n);
    await scanWithLie('unsigned');
    expect(await judgements(wallet)).toEqual([{ amount: 9_000_000n, state: 'pending', reason: null }]);
    expect(await room.confirm()).toBe(1);
    expect(await judgements(wallet)).toEqual([
      { amount: 9_000_000n, state: 'not_credited', reason: 'internal' },
    ]);
  });

  it('leaves no deposit out', async () => {
    await room.scanAll(room.scanner());
    const wallet = await room.newDepositAddress();
    await room.localnet.airdrop(wallet, 7_000_000n);
    await scanWithLie('leave-out');
    expect(await judgements(wallet)).toEqual([{ amount: 7_000_000n, state: 'pending', reason: null }]);
  });

  it('that cannot be read stops nothing: another node is asked', async () => {
    const { mint } = room.localnet;
    await room.scanAll(room.scanner());
    const wallet = await room.newDepositAddress();
    await room.localnet.mintTo(mint.address, wallet, 7n);
    await scanWithLie('garbled-mint');
    expect(await judgements(wallet)).toEqual([{ amount: 7n, state: 'pending', reason: null }]);
  });
});
