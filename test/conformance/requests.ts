import { decompress, init } from '@bokuweb/zstd-wasm';
import { describe, expect, it } from 'vitest';
import type { Harness } from './harness.ts';

const SYSTEM = '11111111111111111111111111111111';
const SIGNATURE = '5h6xBEauJ3PK6SWCZ1PGjBvj8vDdWG3KpwATGy1ARAXFSDwt8GFXM7W5Ncn16wmqokgpiKRLuS83KUxyZyv2sUYv';

/** The bytes of an account in an answer, whichever way they are packed. */
async function unpacked(answer: unknown): Promise<string> {
  const { value } = answer as { value: { data: readonly [string, string] } };
  const [text, encoding] = value.data;
  const bytes = Buffer.from(text, 'base64');
  if (encoding !== 'base64+zstd') return bytes.toString('hex');
  await init();
  return Buffer.from(decompress(bytes)).toString('hex');
}

/** Requests that every node refuses, with its error. */
const REFUSED: readonly (readonly [string, unknown, number, string])[] = [
  ['noSuchMethod', [], -32601, 'Method not found'],
  ['getFees', [], -32601, 'Method not found'],
  ['getBalance', ['x'], -32602, 'Invalid param: WrongSize'],
  ['getBalance', ['0'], -32602, 'Invalid param: Invalid'],
  ['getBalance', [], -32602, '`params` should have at least 1 argument(s)'],
  ['getTransaction', ['abc'], -32602, 'Invalid param: WrongSize'],
  ['getSignatureStatuses', [['abc']], -32602, 'Invalid param: WrongSize'],
  ['getSignatureStatuses', [], -32602, '`params` should have at least 1 argument(s)'],
  ['getSignatureStatuses', [Array(257).fill(SIGNATURE)], -32602, 'Too many inputs provided; max 256'],
  ['getMultipleAccounts', [Array(101).fill(SYSTEM)], -32602, 'Too many inputs provided; max 100'],
  [
    'getBlock',
    [5, { commitment: 'processed' }],
    -32602,
    'Method does not support commitment below `confirmed`',
  ],
  ['getBlock', [999_999_999], -32004, 'Block not available for slot 999999999'],
  ['getBlocksWithLimit', [3, 500_001], -32602, 'Limit too large; max 500000'],
  ['getSignaturesForAddress', [SYSTEM, { limit: 0 }], -32602, 'Invalid limit; max 1000'],
  ['getSignaturesForAddress', [SYSTEM, { limit: 1001 }], -32602, 'Invalid limit; max 1000'],
  [
    'getSignaturesForAddress',
    [SYSTEM, { commitment: 'processed' }],
    -32602,
    'Method does not support commitment below `confirmed`',
  ],
  ['getSlot', [{ minContextSlot: 999_999_999 }], -32016, 'Minimum context slot has not been reached'],
  [
    'getTokenAccountBalance',
    ['SysvarC1ock11111111111111111111111111111111'],
    -32602,
    'Invalid param: not a Token account',
  ],
  [
    'getTokenAccountBalance',
    ['7g2tJfXWzFRpVGcVhwCKJ9FmDWGfMHzmzRJB7wGKSLJd'],
    -32602,
    'Invalid param: could not find account',
  ],
  [
    'getTokenAccountsByOwner',
    [SYSTEM, { mint: 'So11111111111111111111111111111111111111113' }],
    -32602,
    'Invalid param: could not find mint',
  ],
  [
    'getTokenAccountsByOwner',
    [SYSTEM, { programId: SYSTEM }],
    -32602,
    'Invalid param: unrecognized Token program id',
  ],
  ['sendTransaction', ['!!', { encoding: 'base64' }], -32602, 'invalid base64 encoding: InvalidByte(0, 33)'],
  [
    'sendTransaction',
    ['AAAA', { encoding: 'base64' }],
    -32602,
    'failed to deserialize solana_transaction::versioned::VersionedTransaction: io error: failed to fill whole buffer',
  ],
  [
    'getMinimumBalanceForRentExemption',
    [-1],
    -32602,
    'Invalid params: invalid value: integer `-1`, expected usize.',
  ],
  [
    'getMinimumBalanceForRentExemption',
    ['a'],
    -32602,
    'Invalid params: invalid type: string "a", expected usize.',
  ],
];

/** Answers of a node about itself, and its refusals. */
export function requestSubjects(chain: () => Harness): void {
  describe('a node', () => {
    it.each(REFUSED)('refuses %s, case %#', async (method, params, code, message) => {
      const { error } = await chain().call(method, params);
      expect(error).toMatchObject({ code, message });
    });

    it('names its current slot when it is behind', async () => {
      const { error } = await chain().call('getLatestBlockhash', [{ minContextSlot: 999_999_999 }]);
      expect(error?.data).toEqual({ contextSlot: expect.any(Number) });
    });

    it('answers batches in order, and refuses a body that is no JSON', async () => {
      const post = async (body: string): Promise<unknown> =>
        (
          await fetch(chain().rpcUrl, {
            method: 'POST',
            headers: { 'content-type': 'application/json' },
            body,
          })
        ).json();
      const batch = JSON.stringify([1, 'x'].map((id) => ({ jsonrpc: '2.0', id, method: 'getHealth' })));
      expect(await post(batch)).toEqual([1, 'x'].map((id) => ({ jsonrpc: '2.0', id, result: 'ok' })));
      expect(await post('xx')).toMatchObject({ error: { code: -32700, message: 'Parse error' }, id: null });
    });

    it.each([
      'getVersion',
      'getEpochInfo',
      'getGenesisHash',
      'getIdentity',
      'getFirstAvailableBlock',
      'getLatestBlockhash',
      'getRecentPrioritizationFees',
    ])('answers %s in the shape of a validator', async (method) => {
      await chain().expectShape(method, method);
    });

    it('returns the rent minimum of the chain', async () => {
      const sizes = [0, 165, 170].map((size) => chain().result('getMinimumBalanceForRentExemption', [size]));
      expect(await Promise.all(sizes)).toEqual([890_880, 2_039_280, 2_074_080]);
    });

    it('returns accounts in each encoding', async () => {
      const clock = 'SysvarC1ock11111111111111111111111111111111';
      for (const encoding of ['base58', 'base64', 'jsonParsed']) {
        await chain().expectShape(`clock-${encoding}`, 'getAccountInfo', [clock, { encoding }]);
      }
      const mint = 'So11111111111111111111111111111111111111112';
      const [packed, plain] = await Promise.all(
        ['base64+zstd', 'base64'].map((encoding) => chain().result('getAccountInfo', [mint, { encoding }])),
      );
      expect(plain).toMatchObject({ value: { data: [expect.any(String), 'base64'] } });
      expect(packed).toMatchObject({ value: { data: [expect.any(String), 'base64+zstd'] } });
      expect(await unpacked(packed)).toBe(await unpacked(plain));
      await chain().expectShape('clock-default', 'getAccountInfo', [clock]);
      const slice = await chain().result('getAccountInfo', [
        clock,
        { encoding: 'base64', dataSlice: { offset: 1, length: 3 } },
      ]);
      expect(slice).toMatchObject({
        value: { data: [expect.stringMatching(/^.{4}$/), 'base64'], space: 40 },
      });
    });

    it('distinguishes a known blockhash from an unknown one', async () => {
      const { blockhash } = await chain().connection.getLatestBlockhash('confirmed');
      expect(
        await chain().result('isBlockhashValid', [blockhash, { commitment: 'confirmed' }]),
      ).toMatchObject({ value: true });
      expect(await chain().result('isBlockhashValid', [SYSTEM])).toMatchObject({ value: false });
    });
  });
}
