import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { isDomainError } from '../../../src/domain/errors.ts';
import { readBlock } from '../../../src/solana/scan/block.ts';
import { searchParts } from '../../../src/solana/scan/bytes/oversized-block.ts';
import { WatchSet } from '../../../src/solana/scan/bytes/watch-set.ts';
import { searchBlock } from '../../../src/solana/scan/search.ts';
import { ADDRESSES, drawFrom, OURS } from './block-text.ts';
import { blockOfLookups, type Changeable, changeableBlock, changes, textOf } from './changed-block.ts';

const NODE = { name: 'node', maxTransactionVersion: 1 };
const watched = new WatchSet(OURS.length);
for (const wallet of OURS) watched.add(wallet);
const noWallet = new WatchSet(0);

async function* inParts(bytes: Buffer): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += 700) yield bytes.subarray(at, at + 700);
}

/** Each way in which the scan reads an answer, each search with and without a watched wallet. */
const READERS: readonly [string, (bytes: Buffer) => unknown][] = [
  ['the whole parse', (bytes) => readBlock(bytes, 7n, { node: NODE.name })],
  ['the byte search', (bytes) => searchBlock(bytes, { slot: 7n, watched, node: NODE })],
  [
    'the byte search without a watched wallet',
    (bytes) => searchBlock(bytes, { slot: 7n, watched: noWallet, node: NODE }),
  ],
  ['the piecewise reader', (bytes) => piecewise(bytes, watched)],
  ['the piecewise reader without a watched wallet', (bytes) => piecewise(bytes, noWallet)],
];

const piecewise = (bytes: Buffer, wallets: WatchSet) =>
  searchParts(inParts(bytes), 7n, wallets, NODE, { pieceBytes: 900 });

async function outcomeOf(read: (bytes: Buffer) => unknown, bytes: Buffer): Promise<string> {
  try {
    await read(bytes);
    return 'read';
  } catch (error) {
    if (isDomainError(error, 'NodeFault')) return error.message;
    throw error;
  }
}

const outcomesOf = (text: string): Promise<readonly string[]> =>
  Promise.all(READERS.map(([, read]) => outcomeOf(read, Buffer.from(text))));

describe.each(READERS)('%s', (_name, read) => {
  const refusal = (text: string): Promise<string> => outcomeOf(read, Buffer.from(text));

  it('refuses an answer without the keys that its transactions loaded from lookup tables', async () => {
    const block = blockOfLookups();
    expect(await refusal(textOf(block))).toBe('read');
    for (const { transaction } of block.result.transactions)
      transaction.accountKeys = transaction.accountKeys?.filter(({ source }) => source !== 'lookupTable');
    expect(await refusal(textOf(block))).toMatch(/with 6 balances before it and 6 after it, for 4 accounts$/);
  });

  /** A change of the one transaction of a block that can be read. */
  const changed = (change: (transaction: Changeable) => void): string => {
    const block = blockOfLookups(1);
    for (const transaction of block.result.transactions) change(transaction);
    return textOf(block);
  };

  it.each(['0', 'O', 'I', 'l', ' ', '\u00e9', '\n'])('refuses an address with %j in it', async (garbage) => {
    const garbled = `${(ADDRESSES[0] ?? '').slice(0, 31)}${garbage}`;
    const texts = [
      changed(({ transaction }) => Object.assign(transaction.accountKeys?.[2] ?? {}, { pubkey: garbled })),
      ...['owner', 'mint', 'programId'].map((field) =>
        changed(({ meta }) => Object.assign(meta.postTokenBalances[1] ?? {}, { [field]: garbled })),
      ),
    ];
    for (const text of texts) expect(await refusal(text)).toMatch(/unreadable/);
  });

  it.each([null, {}, { Err: 'AccountInUse' }, { Ok: 1 }, { Ok: null, Err: 'AccountInUse' }, 'Ok'])(
    'refuses err null beside the status %j',
    async (status) => {
      expect(await refusal(changed(({ meta }) => Object.assign(meta, { status })))).not.toBe('read');
    },
  );

  it.each([
    '"result":{}',
    '"id":1',
    '"blockhash":"1"',
    '"transactions":[]',
    '"meta":null',
    '"version":0',
    '"signatures":[]',
    '"accountKeys":[]',
    '"err":null',
    '"status":{"Ok":null}',
    '"Ok":null',
    '"preBalances":[]',
    '"postTokenBalances":[]',
    '"pubkey":"1"',
    '"owner":null',
    '"amount":"0"',
  ])('refuses a second %s in one object, before the other and behind it', async (member) => {
    const text = textOf(blockOfLookups());
    const [name = ''] = member.split(':');
    const first = text.indexOf(`${name}:`);
    const before = `${text.slice(0, first)}${member},${text.slice(first)}`;
    const escaped = before.replace(name, `"\\u00${name.charCodeAt(1).toString(16)}${name.slice(2)}`);
    for (const twice of [before, escaped]) {
      expect(() => JSON.parse(twice)).not.toThrow();
      expect(await refusal(twice)).toMatch(/twice|not JSON/);
    }
  });
});

describe('every reader', () => {
  it('refuses the same answers and reads the same answers as the others', async () => {
    const seen = { read: 0, refused: 0 };
    await fc.assert(
      fc.asyncProperty(fc.integer(), async (seed) => {
        const draw = drawFrom(seed);
        const block = changeableBlock(draw);
        const text = changes[draw(changes.length)]?.(block, draw) ?? textOf(block);
        const outcomes = (await outcomesOf(text)).map((outcome) => outcome === 'read');
        expect(new Set(outcomes).size, text).toBe(1);
        seen[outcomes[0] === true ? 'read' : 'refused'] += 1;
      }),
      { numRuns: 1_000 },
    );
    expect(Math.min(seen.read, seen.refused)).toBeGreaterThan(100);
  });

  it.each([
    ['a missing element', '{"result":{"transactions":[,'],
    ['its transactions elsewhere', '{"result":{"x":{"transactions":['],
  ])('refuses an answer with %s', async (_name, head) => {
    const text = textOf(blockOfLookups()).replace('{"result":{"transactions":[', head);
    const tail = head.includes('"x"') ? `${text.slice(0, -1)}}}` : text;
    expect(new Set(await outcomesOf(tail))).not.toContain('read');
  });
});
