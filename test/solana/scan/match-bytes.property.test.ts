import fc from 'fast-check';
import { expect, test } from 'vitest';
import { scanBlockBytes } from '../../../src/solana/scan/bytes/match-bytes.ts';
import { WatchSet } from '../../../src/solana/scan/bytes/watch-set.ts';
import { BlockMaker, drawFrom, type Json, type JsonFields, OURS, write } from './block-text.ts';

const watched = new WatchSet(OURS.length);
for (const wallet of OURS) watched.add(wallet);

const seed = fc.integer();
const RUNS = { numRuns: 1500 };

function object(value: Json | undefined): JsonFields {
  return value !== null && typeof value === 'object' && !Array.isArray(value) ? value : {};
}

function list(value: Json | undefined): readonly Json[] {
  return Array.isArray(value) ? value : [];
}

/** Watched wallets that a reader of the parsed transaction finds: its accounts, and owners of its token balances. */
function ourWallets(transaction: Json): readonly string[] {
  const { meta, transaction: body } = object(transaction);
  const { loadedAddresses, preTokenBalances, postTokenBalances } = object(meta);
  const keys = [
    ...list(object(body)['accountKeys']),
    ...list(object(object(body)['message'])['accountKeys']),
  ];
  const loaded = Object.values(object(loadedAddresses)).flatMap(list);
  const balances = [...list(preTokenBalances), ...list(postTokenBalances)];
  const named = [
    ...keys.map((key) => (typeof key === 'string' ? key : object(key)['pubkey'])),
    ...loaded,
    ...balances.map((balance) => object(balance)['owner']),
  ];
  return OURS.filter((wallet) => named.includes(wallet));
}

function integer(value: Json | undefined): bigint {
  if (typeof value !== 'number' && typeof value !== 'string') throw new Error('no integer');
  return BigInt(value);
}

function transactionsOf(text: string): readonly Json[] {
  return list(object(object(JSON.parse(text))['result'])['transactions']);
}

/** The byte search of `text` misses no wallet that a parse finds. */
function check(text: string): void {
  const bytes = Buffer.from(text);
  const scan = scanBlockBytes(bytes, watched);
  if (scan.mustParse) return;
  const hits = transactionsOf(text).filter((transaction) => ourWallets(transaction).length > 0);
  expect(scan.candidates).toEqual(expect.arrayContaining(hits.flatMap(ourWallets)));
  const shown = scan.hitTransactions.map(({ start, end }) => JSON.parse(bytes.toString('utf8', start, end)));
  // Compared as text: matchers compare each pair of objects member by member.
  const shownTexts = new Set(shown.map((one: Json) => JSON.stringify(one)));
  expect(hits.filter((one) => !shownTexts.has(JSON.stringify(one)))).toEqual([]);
  const { blockhash, previousBlockhash, parentSlot, blockHeight, blockTime } = object(
    object(JSON.parse(text))['result'],
  );
  expect(scan.header).toEqual({
    blockhash,
    previousBlockhash,
    parentSlot: integer(parentSlot),
    height: integer(blockHeight),
    time: blockTime === null ? null : integer(blockTime),
  });
}

test('a complete block without escapes needs no parse, however it is written', () => {
  fc.assert(
    fc.property(seed, (start) => {
      const draw = drawFrom(start);
      const text = write(draw, new BlockMaker(draw).answer());
      const scan = scanBlockBytes(Buffer.from(text), watched);
      if (scan.mustParse) throw new Error('must be parsed');
      const hits = transactionsOf(text).map(ourWallets);
      expect(scan.candidates.toSorted()).toEqual([...new Set(hits.flat())].toSorted());
      expect(scan.hitTransactions.length).toBe(hits.filter((wallets) => wallets.length > 0).length);
      check(text);
    }),
    RUNS,
  );
});

test('the byte search misses no wallet, whatever text is quoted, escaped or repeated', () => {
  fc.assert(
    fc.property(seed, (start) => {
      const draw = drawFrom(start);
      const maker = new BlockMaker(draw, { quoting: draw(4) === 0 });
      check(write(draw, maker.answer(), { escapes: draw(4) === 0, doubles: true }));
    }),
    RUNS,
  );
});

const HIDING: Record<string, (transaction: JsonFields) => void> = {
  'meta is null': (transaction) => Object.assign(transaction, { meta: null }),
  'meta is absent': (transaction) => delete transaction['meta'],
  'token balances are null': ({ meta }) => Object.assign(object(meta), { preTokenBalances: null }),
  'token balances are absent': ({ meta }) => delete object(meta)['postTokenBalances'],
  'a token balance has no owner': ({ meta }) =>
    Object.assign(object(meta), { preTokenBalances: [{ accountIndex: 1, mint: OURS[0] ?? '' }] }),
  'the owner of a token balance is null': ({ meta }) =>
    Object.assign(object(meta), { postTokenBalances: [{ owner: null }] }),
  'the transaction is in base64': (transaction) =>
    Object.assign(transaction, { transaction: ['AQID', 'base64'] }),
  'there are no account keys': (transaction) =>
    Object.assign(transaction, { transaction: { signatures: [] } }),
  'keys of lookup tables are left out': (transaction) => {
    Object.assign(transaction, { transaction: { message: { accountKeys: [OURS[1] ?? ''] } } });
    delete object(transaction['meta'])['loadedAddresses'];
  },
  'the version is newer': (transaction) => Object.assign(transaction, { version: 2 }),
};

test.each(Object.keys(HIDING))('a block must be parsed when, in one of its transactions, %s', (name) => {
  fc.assert(
    fc.property(seed, (start) => {
      const draw = drawFrom(start);
      const maker = new BlockMaker(draw);
      const answer = maker.answer();
      const { transactions } = answer.result;
      // Other members restore the number: an extra member of the same name elsewhere.
      const extra = {
        ...maker.transaction(),
        postTokenBalances: [],
        meta2: { meta: { preTokenBalances: [] } },
      };
      const lacking = maker.transaction();
      HIDING[name]?.(lacking);
      transactions.splice(draw(transactions.length + 1), 0, extra, lacking);
      expect(scanBlockBytes(Buffer.from(write(draw, answer)), watched)).toEqual({ mustParse: true });
    }),
    { numRuns: 100 },
  );
});

test('an answer cut off at any byte must be parsed', () => {
  const draw = drawFrom(11);
  const bytes = Buffer.from(JSON.stringify(new BlockMaker(draw).answer()));
  const unnoticed = Array.from({ length: bytes.length }, (_, length) => length).filter(
    (length) => !scanBlockBytes(bytes.subarray(0, length), watched).mustParse,
  );
  expect(unnoticed).toEqual([]);
});

test.each([
  '',
  'null',
  '[]',
  '{"jsonrpc":"2.0","id":1}',
  '{"jsonrpc":"2.0","result":null,"id":1}',
  '{"jsonrpc":"2.0","error":{"code":-32007,"message":"skipped"},"id":1}',
  '{"result":{"blockhash":"a","previousBlockhash":"b","parentSlot":1,"blockHeight":2,"signatures":[]}}',
  '{"result":{"blockhash":"a","previousBlockhash":"b","parentSlot":1,"blockHeight":null,"transactions":[]}}',
  '{"result":{"blockhash":"a","previousBlockhash":"b","parentSlot":1.5,"blockHeight":2,"transactions":[]}}',
  '{"result":{"blockhash":null,"previousBlockhash":"b","parentSlot":1,"blockHeight":2,"transactions":[]}}',
  '{"result":{"blockhash":"a","previousBlockhash":"b","parentSlot":1,"blockHeight":2,"transactions":null}}',
])('an answer that is no complete block must be parsed: %s', (text) => {
  expect(scanBlockBytes(Buffer.from(text), watched)).toEqual({ mustParse: true });
});
