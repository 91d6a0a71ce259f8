import { describe, expect, it } from 'vitest';
import { searchParts } from '../../../src/solana/scan/bytes/oversized-block.ts';
import { WatchSet } from '../../../src/solana/scan/bytes/watch-set.ts';
import { signaturesHashOf } from '../../../src/solana/scan/listing.ts';
import { searchBlock } from '../../../src/solana/scan/search.ts';
import { ADDRESSES } from './block-text.ts';

const NODE = { name: 'node', maxTransactionVersion: 1 };
const [ONE, OTHER, THIRD] = ['A', 'B', 'C'].map((letter) => letter.repeat(88)) as [string, string, string];
const [OURS = '', STRANGER = ''] = ADDRESSES;

/** A transaction that pays us, or a stranger; `signatures`: its member of that name, as it is written. */
const named = (signatures: string, payee = OURS): string => {
  const meta = `"meta":{"err":null,"fee":5000,"preBalances":[0],"postBalances":[1],"preTokenBalances":[],"postTokenBalances":[]}`;
  const keys = `"accountKeys":[{"pubkey":"${payee}","signer":false}]`;
  return `{"transaction":{${[signatures, keys].filter((member) => member !== '').join()}},${meta},"version":0}`;
};
const signed = (signature: string, payee = OURS): string => named(`"signatures":["${signature}"]`, payee);

function blockOf(transactions: readonly string[]): Buffer {
  const header = `"blockHeight":1,"blockTime":1,"blockhash":"a","parentSlot":1,"previousBlockhash":"b"`;
  return Buffer.from(`{"jsonrpc":"2.0","result":{${header},"transactions":[${transactions.join()}]},"id":1}`);
}

function watched(): WatchSet {
  const watch = new WatchSet(1);
  watch.add(OURS);
  return watch;
}

async function* inOnePart(bytes: Buffer): AsyncGenerator<Uint8Array> {
  yield bytes;
}

/** The listing and the signatures of the matches. */
type ReadResult = readonly [listed: string, found: readonly string[]] | 'refused';

const READERS: readonly [string, (bytes: Buffer) => Promise<ReadResult>][] = [
  ['in memory', async (bytes) => resultOf(searchBlock(bytes, { slot: 7n, watched: watched(), node: NODE }))],
  [
    'that is read in pieces',
    async (bytes) => resultOf(await searchParts(inOnePart(bytes), 7n, watched(), NODE)),
  ],
];

function resultOf({
  signaturesHash: listed,
  transactions,
}: Pick<ReturnType<typeof searchBlock>, 'signaturesHash' | 'transactions'>): ReadResult {
  return [listed, transactions.map(({ signature }) => signature)];
}

describe.each(READERS)('a block %s', (_name, read) => {
  const readAll = (...transactions: readonly string[]): Promise<ReadResult> =>
    read(blockOf(transactions)).catch((): ReadResult => 'refused');

  it('lists its transactions, each under the signature by which it is found', async () => {
    expect(await readAll(signed(ONE), signed(OTHER))).toEqual([signaturesHashOf([ONE, OTHER]), [ONE, OTHER]]);
  });

  it.each([
    ['one transaction has two names', [signed(`${ONE}\n${OTHER}`, STRANGER)]],
    [
      'one transaction has two signature lists',
      [signed(ONE), named(`"signatures":["${OTHER}"],"signatures":["${THIRD}"]`, STRANGER)],
    ],
    ['one transaction has no signature', [signed(ONE), signed(OTHER), named('', STRANGER)]],
    [
      'one transaction and all after it have no signature',
      [signed(ONE), signed(OTHER), named('', STRANGER), signed(THIRD)],
    ],
    [
      'one transaction has an empty signature list',
      [signed(ONE), signed(OTHER), named('"signatures":[]', STRANGER), signed(THIRD)],
    ],
  ])('is refused when %s', async (_what, transactions) => {
    expect(await readAll(...transactions)).toBe('refused');
  });
});
