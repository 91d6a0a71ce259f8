import { Keypair, PublicKey, SystemProgram, TransactionInstruction, VersionedMessage } from '@solana/web3.js';
import { describe, expect, it } from 'vitest';
import type { Harness } from './harness.ts';
import { ROOMY, signVersion1, type Version1Config } from './version-1.ts';

const MEMO = new PublicKey('MemoSq4gqABAXKb96qnH8TysNcWxMyWCqXgDLGmfcHr');
const CONFIRMED = { commitment: 'confirmed', maxSupportedTransactionVersion: 1 };

function pay(payer: PublicKey, to: PublicKey, lamports: number): TransactionInstruction {
  return SystemProgram.transfer({ fromPubkey: payer, toPubkey: to, lamports });
}

function memo(length: number): TransactionInstruction {
  return new TransactionInstruction({ programId: MEMO, keys: [], data: Buffer.alloc(length, 'a') });
}

/** Version-1 transactions (SIMD-0385). */
function version1Subjects(chain: () => Harness): void {
  const sign = async (
    instructions: readonly TransactionInstruction[],
    config: Version1Config = ROOMY,
  ): Promise<ReturnType<typeof signVersion1>> => {
    const { blockhash } = await chain().connection.getLatestBlockhash('confirmed');
    return signVersion1(chain().payer, blockhash, instructions, config);
  };

  describe('version-1 transactions', () => {
    it('are priced, simulated, sent with preflight, and land with their config', async () => {
      const { payer } = chain();
      const to = Keypair.generate().publicKey;
      const config = { ...ROOMY, priorityFeeLamports: 77n };
      const { message, raw, signature } = await sign([pay(payer.publicKey, to, 1_000_000)], config);
      expect(VersionedMessage.deserialize(message)).toMatchObject({
        version: 1,
        transactionConfig: { computeUnitLimit: 300_000, priorityFee: 77, heapSize: null },
      });
      const fee = await chain().result('getFeeForMessage', [
        Buffer.from(message).toString('base64'),
        { commitment: 'confirmed' },
      ]);
      expect(fee).toMatchObject({ value: 5077 });
      const simulated = await chain().result('simulateTransaction', [
        raw,
        { encoding: 'base64', commitment: 'confirmed', sigVerify: true },
      ]);
      expect(simulated).toMatchObject({ value: { err: null, fee: 5077, unitsConsumed: 150 } });
      expect((await chain().preflight(raw)).result).toBe(signature);
      await chain().seen(signature);
      expect(await chain().balance(to)).toBe(1_000_000);
      const found = await chain().result('getTransaction', [signature, { ...CONFIRMED, encoding: 'json' }]);
      expect(found).toMatchObject({
        version: 1,
        meta: { err: null, fee: 5077 },
        transaction: { message: { transactionConfig: { computeUnitLimit: 300_000, priorityFee: 77 } } },
      });
    });

    it('may be 4096 bytes long, and no longer', async () => {
      const { payer } = chain();
      const instructions = (length: number) => [
        pay(payer.publicKey, Keypair.generate().publicKey, 1_000_000),
        memo(length),
      ];
      const rest = Buffer.from((await sign(instructions(0))).raw, 'base64').length;
      const longest = await sign(instructions(4096 - rest));
      expect(Buffer.from(longest.raw, 'base64')).toHaveLength(4096);
      expect((await chain().preflight(longest.raw)).result).toBe(longest.signature);
      await chain().seen(longest.signature);
      for (const encoding of ['json', 'jsonParsed', 'base64', 'base58']) {
        const found = await chain().result('getTransaction', [longest.signature, { ...CONFIRMED, encoding }]);
        expect(found).toMatchObject({ version: 1, meta: { err: null } });
      }
      const longer = await sign(instructions(4097 - rest));
      expect((await chain().preflight(longer.raw)).error).toMatchObject({
        code: -32602,
        message: expect.stringContaining('too large: 4097 bytes (max: 4096 bytes)'),
      });
    });

    it('are returned only to callers that name their version', async () => {
      const { payer } = chain();
      const { raw, signature } = await sign([pay(payer.publicKey, Keypair.generate().publicKey, 1_000_000)]);
      await chain().send(raw);
      await chain().seen(signature);
      const found = await chain().result('getTransaction', [signature, CONFIRMED]);
      const { slot } = found as { slot: number };
      for (const options of [{}, { maxSupportedTransactionVersion: 0 }]) {
        const config = { commitment: 'confirmed', ...options };
        const refused = { code: -32015, message: expect.stringContaining('Transaction version (1)') };
        expect((await chain().call('getTransaction', [signature, config])).error).toMatchObject(refused);
        expect((await chain().call('getBlock', [slot, config])).error).toMatchObject(refused);
        const names = { ...config, transactionDetails: 'signatures' };
        expect(await chain().result('getBlock', [slot, names])).toMatchObject({ signatures: [signature] });
      }
      for (const transactionDetails of ['full', 'accounts'])
        expect(await chain().result('getBlock', [slot, { ...CONFIRMED, transactionDetails }])).toMatchObject({
          transactions: [{ version: 1 }],
        });
    });

    it('load and execute nothing when their config sets no limits', async () => {
      const { payer } = chain();
      const instructions = [pay(payer.publicKey, Keypair.generate().publicKey, 1_000_000)];
      for (const config of [{}, { computeUnitLimit: 300_000 }]) {
        const { raw } = await sign(instructions, config);
        expect((await chain().preflight(raw)).error).toMatchObject({
          data: { err: 'MaxLoadedAccountsDataSizeExceeded' },
        });
      }
      const { computeUnitLimit: _, ...noUnits } = ROOMY;
      expect((await chain().preflight((await sign(instructions, noUnits)).raw)).error).toMatchObject({
        data: { err: { InstructionError: [0, 'ComputationalBudgetExceeded'] } },
      });
    });

    it('are refused when config or counts break the format', async () => {
      const { payer } = chain();
      const { raw } = await sign([pay(payer.publicKey, Keypair.generate().publicKey, 1_000_000)]);
      const broken = Buffer.from(raw, 'base64');
      const mask = broken[4] ?? 0;
      for (const bit of [1, 2, 32]) {
        broken[4] = mask | bit;
        expect((await chain().preflight(broken.toString('base64'))).error).toMatchObject({
          code: -32602,
          message: expect.stringContaining('failed to deserialize'),
        });
      }
      const many = await sign(Array.from({ length: 65 }, () => memo(1)));
      expect((await chain().preflight(many.raw)).error).toMatchObject({
        code: -32602,
        message: expect.stringContaining('failed to sanitize'),
      });
    });
  });
}

/** Transactions that a block includes without executing them (SIMD-0290). */
function unexecutedSubjects(chain: () => Harness): void {
  describe('transactions that cannot pay their fee', () => {
    it('land with their error, and cost and change nothing', async () => {
      await chain().result('localnet_includeUnpayable', [true]);
      const [poor, to] = [Keypair.generate(), Keypair.generate().publicKey];
      const { blockhash } = await chain().connection.getLatestBlockhash('confirmed');
      const { raw, signature } = signVersion1(poor, blockhash, [pay(poor.publicKey, to, 1_000_000)]);
      expect((await chain().send(raw)).result).toBe(signature);
      await chain().seen(signature);
      const status = await chain().result('getSignatureStatuses', [[signature]]);
      expect(status).toMatchObject({
        value: [{ err: 'AccountNotFound', status: { Err: 'AccountNotFound' } }],
      });
      expect(await chain().result('getTransaction', [signature, CONFIRMED])).toMatchObject({
        meta: {
          err: 'AccountNotFound',
          fee: 0,
          innerInstructions: null,
          logMessages: null,
          preBalances: [0, 0, 1],
          postBalances: [0, 0, 1],
        },
      });
      expect(await chain().balance(to)).toBe(0);
      await chain().result('localnet_includeUnpayable', [false]);
      const later = signVersion1(poor, blockhash, [pay(poor.publicKey, to, 1_000_001)]);
      await chain().send(later.raw);
      await chain().blocks(2);
      expect(await chain().connection.getSignatureStatus(later.signature)).toMatchObject({ value: null });
    });
  });
}

/** What clusters do that Agave 3.0.0 does not do yet: the listed differences between localnet and the validator of the tests. */
export function newerSubjects(chain: () => Harness): void {
  version1Subjects(chain);
  unexecutedSubjects(chain);
}
