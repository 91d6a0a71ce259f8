import { base58 } from '@scure/base';
import { Keypair, SystemProgram } from '@solana/web3.js';
import { describe, expect, it } from 'vitest';
import type { Harness } from './harness.ts';

const AMOUNT = 10_000_000;
const CLOCK = 'SysvarC1ock11111111111111111111111111111111';
const CONFIRMED = { commitment: 'confirmed' };

interface BlockResult {
  readonly parentSlot: number;
  readonly transactions: readonly { readonly transaction: unknown }[];
}

/** Reads of landed transactions: blocks, lists of blocks, statuses, histories of an address, many accounts at once. */
export function readingSubjects(chain: () => Harness): void {
  const pay = (to: Keypair) =>
    SystemProgram.transfer({
      fromPubkey: chain().payer.publicKey,
      toPubkey: to.publicKey,
      lamports: AMOUNT,
    });

  async function slotOf(signature: string): Promise<number> {
    const { value } = await chain().connection.getSignatureStatuses([signature]);
    return value[0]?.slot ?? 0;
  }

  describe('a node', () => {
    it('returns whole blocks in each encoding', async () => {
      const signature = await chain().land([pay(Keypair.generate())]);
      const slot = await slotOf(signature);
      for (const encoding of ['json', 'jsonParsed', 'base64', 'base58']) {
        const options = { encoding, ...CONFIRMED, maxSupportedTransactionVersion: 0, rewards: true };
        const block = (await chain().result('getBlock', [slot, options])) as BlockResult;
        // The blocks of a validator contain its votes too.
        const transactions = block.transactions.filter(({ transaction }) => carries(transaction, signature));
        expect(transactions).toHaveLength(1);
        await chain().expectShapeOf(`block-${encoding}`, { ...block, transactions });
      }
    });

    it('lists blocks between two slots and from one on', async () => {
      const slot = await slotOf(await chain().land([pay(Keypair.generate())]));
      const options = { ...CONFIRMED, transactionDetails: 'none', rewards: false };
      const { parentSlot } = (await chain().result('getBlock', [slot, options])) as BlockResult;
      expect(await chain().result('getBlocks', [parentSlot, slot, CONFIRMED])).toEqual([parentSlot, slot]);
      expect(await chain().result('getBlocks', [slot, parentSlot, CONFIRMED])).toEqual([]);
      expect(await chain().result('getBlocksWithLimit', [parentSlot, 2, CONFIRMED])).toEqual([
        parentSlot,
        slot,
      ]);
      expect(await chain().result('getBlocksWithLimit', [parentSlot, 0, CONFIRMED])).toEqual([]);
    });

    it('returns the status of finalized signatures, and null for unknown ones', async () => {
      const signature = await chain().land([pay(Keypair.generate())]);
      await chain().seen(signature, /^finalized$/);
      const unknown = base58.encode(new Uint8Array(64).fill(7));
      const result = await chain().expectShape('getSignatureStatuses', 'getSignatureStatuses', [
        [signature, unknown],
        { searchTransactionHistory: true },
      ]);
      expect(result).toMatchObject({
        value: [{ confirmationStatus: 'finalized', confirmations: null, err: null }, null],
      });
    });

    it('returns the history of an address newest first, by pages', async () => {
      const to = Keypair.generate();
      const landed: string[] = [];
      for (let count = 0; count < 3; count += 1) {
        landed.unshift(await chain().land([pay(to)]));
        await chain().blocks(1);
      }
      const [newest, middle, oldest] = landed;
      const pageOf = async (page: object): Promise<unknown> => {
        const options = { ...CONFIRMED, ...page };
        const params = [to.publicKey.toBase58(), options];
        const rows = (await chain().result('getSignaturesForAddress', params)) as { signature: string }[];
        return rows.map(({ signature }) => signature);
      };
      expect(await pageOf({})).toEqual(landed);
      expect(await pageOf({ limit: 1 })).toEqual([newest]);
      expect(await pageOf({ before: newest, limit: 1 })).toEqual([middle]);
      expect(await pageOf({ before: middle })).toEqual([oldest]);
      expect(await pageOf({ before: oldest })).toEqual([]);
      expect(await pageOf({ until: oldest })).toEqual([newest, middle]);
      expect(await pageOf({ before: newest, until: oldest })).toEqual([middle]);
    });

    it('returns many accounts in the requested order, and null for missing ones', async () => {
      const nowhere = Keypair.generate().publicKey.toBase58();
      const payer = chain().payer.publicKey.toBase58();
      for (const encoding of ['base64', 'jsonParsed']) {
        const result = await chain().expectShape(`accounts-${encoding}`, 'getMultipleAccounts', [
          [nowhere, CLOCK, payer],
          { ...CONFIRMED, encoding },
        ]);
        expect(result).toMatchObject({
          value: [null, { space: 40 }, { space: 0, owner: SystemProgram.programId.toBase58() }],
        });
      }
    });

    it('accepts bytes to send in base58, which is its default', async () => {
      for (const encoding of [{ encoding: 'base58' }, {}]) {
        const to = Keypair.generate();
        const { raw, signature } = await chain().sign([pay(to)]);
        const text = base58.encode(Buffer.from(raw, 'base64'));
        const options = { ...encoding, preflightCommitment: 'confirmed' };
        expect(await chain().result('sendTransaction', [text, options])).toBe(signature);
        await chain().seen(signature);
        expect(await chain().balance(to.publicKey)).toBe(AMOUNT);
      }
    });

    it('checks signatures in a simulation only when requested', async () => {
      const { raw } = await chain().sign([pay(Keypair.generate())]);
      const simulate = (bytes: Buffer, sigVerify: boolean) =>
        chain().call('simulateTransaction', [
          bytes.toString('base64'),
          { encoding: 'base64', ...CONFIRMED, sigVerify },
        ]);
      const whole = Buffer.from(raw, 'base64');
      const broken = Buffer.from(whole);
      broken[5] = (broken[5] ?? 0) ^ 1;
      const passed = { result: { value: { err: null } } };
      expect(await simulate(whole, true)).toMatchObject(passed);
      expect(await simulate(broken, false)).toMatchObject(passed);
      expect(await simulate(broken, true)).toMatchObject({
        error: { code: -32003, message: 'Transaction signature verification failure' },
      });
    });
  });
}

/** True for a transaction of a block, in whichever encoding, whose first signature this is. */
function carries(transaction: unknown, signature: string): boolean {
  if (!Array.isArray(transaction)) return JSON.stringify(transaction).includes(signature);
  const [text, encoding] = transaction as [string, string];
  const bytes = encoding === 'base58' ? base58.decode(text) : Buffer.from(text, 'base64');
  return base58.encode(bytes.subarray(1, 65)) === signature;
}
