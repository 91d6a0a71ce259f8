import {
  AddressLookupTableProgram,
  ComputeBudgetProgram,
  Keypair,
  NONCE_ACCOUNT_LENGTH,
  NonceAccount,
  type PublicKey,
  SystemProgram,
  type TransactionInstruction,
  TransactionMessage,
  VersionedTransaction,
} from '@solana/web3.js';
import { describe, expect, it } from 'vitest';
import type { Harness } from './harness.ts';

/** 150 blocks of a validator on a busy machine. */
const SLOW_CHAIN_MS = 180_000;

async function createNonce(chain: Harness): Promise<PublicKey> {
  const nonce = Keypair.generate();
  const payer = chain.payer.publicKey;
  await chain.land(
    [
      SystemProgram.createAccount({
        fromPubkey: payer,
        newAccountPubkey: nonce.publicKey,
        lamports: await chain.connection.getMinimumBalanceForRentExemption(NONCE_ACCOUNT_LENGTH),
        space: NONCE_ACCOUNT_LENGTH,
        programId: SystemProgram.programId,
      }),
      SystemProgram.nonceInitialize({ noncePubkey: nonce.publicKey, authorizedPubkey: payer }),
    ],
    [nonce],
  );
  await chain.blocks(1);
  return nonce.publicKey;
}

async function readNonce(chain: Harness, address: PublicKey): Promise<string> {
  const account = await chain.connection.getAccountInfo(address, 'confirmed');
  return NonceAccount.fromAccountData(account?.data ?? Buffer.alloc(0)).nonce;
}

/** Durable nonces, priority fees and lookup tables. */
export function lifetimeSubjects(chain: () => Harness): void {
  const pay = (lamports: number): TransactionInstruction =>
    SystemProgram.transfer({
      fromPubkey: chain().payer.publicKey,
      toPubkey: Keypair.generate().publicKey,
      lamports,
    });
  const advance = (noncePubkey: PublicKey): TransactionInstruction =>
    SystemProgram.nonceAdvance({ noncePubkey, authorizedPubkey: chain().payer.publicKey });

  describe('blockhashes', () => {
    it(
      'live for 150 block heights and are then not found',
      async () => {
        const { connection } = chain();
        const { blockhash, lastValidBlockHeight } = await connection.getLatestBlockhash('confirmed');
        const { raw, transaction } = await chain().sign([pay(10_000_000)], [], blockhash);
        await expect
          .poll(() => connection.getBlockHeight('confirmed'), { timeout: SLOW_CHAIN_MS, interval: 20 })
          .toBeGreaterThan(lastValidBlockHeight);
        const valid = await connection.isBlockhashValid(blockhash, { commitment: 'confirmed' });
        expect(valid.value).toBe(false);
        expect((await chain().preflight(raw)).error).toMatchObject({ data: { err: 'BlockhashNotFound' } });
        const fee = await connection.getFeeForMessage(transaction.compileMessage(), 'confirmed');
        expect(fee.value, 'priced while the node remembers the hash').toBe(5000);
      },
      SLOW_CHAIN_MS,
    );
  });

  describe('durable nonces', () => {
    it('are used by a transaction that lands, even by one that fails', async () => {
      const address = await createNonce(chain());
      await chain().expectShape('nonce-account', 'getAccountInfo', [
        address.toBase58(),
        { encoding: 'jsonParsed', commitment: 'confirmed' },
      ]);
      for (const lamports of [10_000_000, 9e12]) {
        const nonce = await readNonce(chain(), address);
        const { raw, signature } = await chain().sign([advance(address), pay(lamports)], [], nonce);
        await chain().send(raw);
        await chain().seen(signature);
        expect(await readNonce(chain(), address)).not.toBe(nonce);
        const again = await chain().preflight(raw);
        expect(again.error).toMatchObject({ data: { err: 'BlockhashNotFound' } });
        await chain().blocks(1);
      }
    });

    it('count only when the advance is the first instruction', async () => {
      const address = await createNonce(chain());
      const nonce = await readNonce(chain(), address);
      const { raw } = await chain().sign([pay(10_000_000), advance(address)], [], nonce);
      expect((await chain().preflight(raw)).error).toMatchObject({ data: { err: 'BlockhashNotFound' } });
    });
  });

  describe('fees', () => {
    it('are 5000 lamports per signature plus the price of the requested units', async () => {
      const instructions = [
        ComputeBudgetProgram.setComputeUnitLimit({ units: 1_001 }),
        ComputeBudgetProgram.setComputeUnitPrice({ microLamports: 1_500_000 }),
        pay(10_000_000),
      ];
      const { transaction } = await chain().sign(instructions);
      const fee = await chain().connection.getFeeForMessage(transaction.compileMessage(), 'confirmed');
      expect(fee.value).toBe(5000 + 1502);
      const before = await chain().balance(chain().payer.publicKey);
      const signature = await chain().land(instructions);
      expect(await chain().balance(chain().payer.publicKey)).toBe(before - 10_000_000 - 6502);
      await chain().expectShape('transaction-priority', 'getTransaction', [
        signature,
        { encoding: 'jsonParsed', commitment: 'confirmed', maxSupportedTransactionVersion: 0 },
      ]);
    });

    it('use the default limit per instruction when none is set', async () => {
      const price = ComputeBudgetProgram.setComputeUnitPrice({ microLamports: 1_000_000 });
      const { transaction } = await chain().sign([price, pay(10_000_000)]);
      const fee = await chain().connection.getFeeForMessage(transaction.compileMessage(), 'confirmed');
      expect(fee.value).toBe(5000 + 6000);
    });
  });

  describe('lookup tables', () => {
    it('load addresses for version-0 transactions', async () => {
      const { connection, payer } = chain();
      const [create, table] = AddressLookupTableProgram.createLookupTable({
        authority: payer.publicKey,
        payer: payer.publicKey,
        recentSlot: await connection.getSlot('finalized'),
      });
      const target = Keypair.generate().publicKey;
      const extend = AddressLookupTableProgram.extendLookupTable({
        lookupTable: table,
        authority: payer.publicKey,
        payer: payer.publicKey,
        addresses: [target],
      });
      await chain().land([create, extend]);
      await chain().blocks(2);
      const lookup = await connection.getAddressLookupTable(table, { commitment: 'confirmed' });
      if (!lookup.value) throw new Error('the table was not created');
      const message = new TransactionMessage({
        payerKey: payer.publicKey,
        recentBlockhash: (await connection.getLatestBlockhash()).blockhash,
        instructions: [
          SystemProgram.transfer({ fromPubkey: payer.publicKey, toPubkey: target, lamports: 2_000_000 }),
        ],
      }).compileToV0Message([lookup.value]);
      const transaction = new VersionedTransaction(message);
      transaction.sign([payer]);
      const signature = await connection.sendTransaction(transaction, { preflightCommitment: 'confirmed' });
      await chain().seen(signature);
      expect(await chain().balance(target)).toBe(2_000_000);
      const read = (max: object) =>
        chain().call('getTransaction', [signature, { commitment: 'confirmed', ...max }]);
      expect((await read({})).error).toMatchObject({ code: -32015 });
      for (const encoding of ['json', 'jsonParsed']) {
        await chain().expectShape(`transaction-lookup-${encoding}`, 'getTransaction', [
          signature,
          { encoding, commitment: 'confirmed', maxSupportedTransactionVersion: 0 },
        ]);
      }
      await chain().expectShape('lookup-table', 'getAccountInfo', [
        table.toBase58(),
        { encoding: 'jsonParsed', commitment: 'confirmed' },
      ]);
    });
  });
}
