import { Keypair, SystemProgram, TransactionInstruction } from '@solana/web3.js';
import { describe, expect, it } from 'vitest';
import type { Harness } from './harness.ts';

const AMOUNT = 10_000_000;

/** Native transfers: sending, refusing, landing, reading back. */
export function transferSubjects(chain: () => Harness): void {
  const pay = (to: Keypair, lamports: number) =>
    SystemProgram.transfer({ fromPubkey: chain().payer.publicKey, toPubkey: to.publicKey, lamports });

  describe('transfers', () => {
    it('land, are returned by every method, and cannot land twice', async () => {
      const to = Keypair.generate();
      const { raw, signature } = await chain().sign([pay(to, AMOUNT)]);
      expect((await chain().preflight(raw)).result).toBe(signature);
      await chain().seen(signature);
      expect(await chain().balance(to.publicKey)).toBe(AMOUNT);
      const again = await chain().preflight(raw);
      expect(again.error).toMatchObject({ code: -32002, data: { err: 'AlreadyProcessed' } });
      expect((await chain().send(raw)).result).toBe(signature);
      await chain().blocks(2);
      expect(await chain().balance(to.publicKey)).toBe(AMOUNT);
      for (const encoding of ['json', 'jsonParsed', 'base64', 'base58']) {
        const config = { encoding, commitment: 'confirmed', maxSupportedTransactionVersion: 0 };
        await chain().expectShape(`transaction-${encoding}`, 'getTransaction', [signature, config]);
      }
      await chain().expectShape('transaction-plain', 'getTransaction', [
        signature,
        { commitment: 'confirmed' },
      ]);
      await chain().expectShape('signatures-for-address', 'getSignaturesForAddress', [
        to.publicKey.toBase58(),
        { commitment: 'confirmed' },
      ]);
    });

    it('land in blocks that link to their parents', async () => {
      const signature = await chain().land([pay(Keypair.generate(), AMOUNT)]);
      const config = { commitment: 'confirmed', maxSupportedTransactionVersion: 0, rewards: false } as const;
      const found = await chain().connection.getTransaction(signature, config);
      const slot = found?.slot ?? 0;
      const block = await chain().connection.getBlock(slot, config);
      const parent = await chain().connection.getBlock(block?.parentSlot ?? 0, config);
      expect(block?.previousBlockhash).toBe(parent?.blockhash);
      for (const transactionDetails of ['accounts', 'signatures', 'none']) {
        const options = { ...config, transactionDetails, rewards: true };
        await chain().expectShape(`block-${transactionDetails}`, 'getBlock', [slot, options]);
      }
      const { signatures } = (await chain().result('getBlock', [
        slot,
        { ...config, transactionDetails: 'signatures' },
      ])) as {
        signatures: string[];
      };
      expect(signatures).toContain(signature);
    });

    it('are refused by preflight with the reason', async () => {
      const poor = Keypair.generate();
      const reasons: unknown[] = [];
      for (const lamports of [9e12, 9]) {
        const { raw } = await chain().sign([pay(Keypair.generate(), lamports)]);
        reasons.push((await chain().preflight(raw)).error);
      }
      expect(reasons).toMatchObject([
        {
          code: -32002,
          message: 'Transaction simulation failed: Error processing Instruction 0: custom program error: 0x1',
          data: { err: { InstructionError: [0, { Custom: 1 }] }, fee: 5000, unitsConsumed: 150 },
        },
        {
          code: -32002,
          message:
            'Transaction simulation failed: Transaction results in an account (1) with insufficient funds for rent',
          data: { err: { InsufficientFundsForRent: { account_index: 1 } } },
        },
      ]);
      const { raw } = await chain().sign([pay(poor, AMOUNT)], [], poor.publicKey.toBase58());
      expect((await chain().preflight(raw)).error).toMatchObject({
        code: -32002,
        message: 'Transaction simulation failed: Blockhash not found',
        data: { err: 'BlockhashNotFound', fee: null, logs: [], unitsConsumed: 0 },
      });
    });

    it('with a broken signature are refused', async () => {
      const { raw } = await chain().sign([pay(Keypair.generate(), AMOUNT)]);
      const bytes = Buffer.from(raw, 'base64');
      bytes[5] = (bytes[5] ?? 0) ^ 1;
      const error = { code: -32003, message: 'Transaction signature verification failure' };
      expect((await chain().preflight(bytes.toString('base64'))).error).toMatchObject(error);
    });

    it('that fail on chain cost their fee and change nothing else', async () => {
      const to = Keypair.generate();
      const before = await chain().balance(chain().payer.publicKey);
      const signature = await chain().land([pay(to, 9e12)]);
      expect(await chain().balance(chain().payer.publicKey)).toBe(before - 5000);
      const found = await chain().connection.getTransaction(signature, {
        commitment: 'confirmed',
        maxSupportedTransactionVersion: 0,
      });
      expect(found?.meta).toMatchObject({ err: { InstructionError: [0, { Custom: 1 }] }, fee: 5000 });
      await chain().expectShape('transaction-failed', 'getTransaction', [
        signature,
        { commitment: 'confirmed', maxSupportedTransactionVersion: 0 },
      ]);
    });

    it('that call an account without a program cost their fee and are not executed', async () => {
      const program = Keypair.generate().publicKey;
      const call = new TransactionInstruction({ programId: program, keys: [], data: Buffer.from([1]) });
      const before = await chain().balance(chain().payer.publicKey);
      const { raw } = await chain().sign([call]);
      expect((await chain().preflight(raw)).error).toMatchObject({ data: { err: 'ProgramAccountNotFound' } });
      const signature = await chain().land([call]);
      expect(await chain().balance(chain().payer.publicKey)).toBe(before - 5000);
      const found = await chain().expectShape('transaction-unloaded', 'getTransaction', [
        signature,
        { commitment: 'confirmed', maxSupportedTransactionVersion: 0 },
      ]);
      expect(found).toMatchObject({
        meta: { err: 'ProgramAccountNotFound', fee: 5000, computeUnitsConsumed: 0 },
      });
    });

    it('are simulated without being sent', async () => {
      const to = Keypair.generate();
      const { raw } = await chain().sign([pay(to, AMOUNT)]);
      const accounts = { encoding: 'base64', addresses: [to.publicKey.toBase58()] };
      const config = { encoding: 'base64', commitment: 'confirmed' };
      const result = await chain().expectShape('simulation', 'simulateTransaction', [
        raw,
        { ...config, accounts, innerInstructions: true },
      ]);
      expect(result).toMatchObject({
        value: { err: null, accounts: [{ lamports: AMOUNT }], unitsConsumed: 150 },
      });
      await chain().expectShape('simulation-replaced', 'simulateTransaction', [
        raw,
        { ...config, replaceRecentBlockhash: true },
      ]);
      const both = await chain().call('simulateTransaction', [
        raw,
        { ...config, replaceRecentBlockhash: true, sigVerify: true },
      ]);
      expect(both.error).toMatchObject({
        code: -32602,
        message: 'sigVerify may not be used with replaceRecentBlockhash',
      });
      expect(await chain().balance(to.publicKey)).toBe(0);
    });

    it('are announced to subscribers', async () => {
      const { raw, signature } = await chain().sign([pay(Keypair.generate(), AMOUNT)]);
      const notification = new Promise((resolve) => {
        chain().connection.onSignature(signature, (result) => resolve(result), 'confirmed');
      });
      const slots = new Promise<{ slot: number; parent: number; root: number }>((resolve, reject) => {
        const id = chain().connection.onSlotChange((info) => {
          chain()
            .connection.removeSlotChangeListener(id)
            .then(() => resolve(info), reject);
        });
      });
      await chain().send(raw);
      expect(await notification).toEqual({ err: null });
      expect(Object.keys(await slots).toSorted()).toEqual(['parent', 'root', 'slot']);
    });
  });
}
