import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { findingOf } from '../../../../src/domain/credits.ts';
import { readBlock } from '../../../../src/solana/scan/block.ts';
import { searchParts } from '../../../../src/solana/scan/bytes/oversized-block.ts';
import { WatchSet } from '../../../../src/solana/scan/bytes/watch-set.ts';
import { addressesOf, searchBlock } from '../../../../src/solana/scan/search.ts';
import { terms } from '../../../domain/credits-support.ts';
import { ADDRESSES, type Draw, drawFrom, OURS, write } from '../block-text.ts';
import { readableBlock } from '../readable-block.ts';

const NODE = { name: 'node', maxTransactionVersion: 1 };
const watched = new WatchSet(OURS.length);
for (const wallet of OURS) watched.add(wallet);

const known = {
  kindOf: (address: string) => (OURS.includes(address) ? ('deposit' as const) : undefined),
  ataOf: () => ADDRESSES[0] ?? '',
  asset: (asset: string) => (ADDRESSES.includes(asset) ? undefined : terms(asset)),
  isAttempt: () => false,
};

/** Bytes as they may come from a node. */
async function* cutAnywhere(bytes: Uint8Array, draw: Draw, longest: number): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < bytes.length; ) {
    const end = at + 1 + draw(longest);
    yield bytes.subarray(at, end);
    at = end;
  }
}

const read = (bytes: Uint8Array, draw: Draw, longest = 300, pieceBytes = 500) =>
  searchParts(cutAnywhere(bytes, draw, longest), 7n, watched, NODE, { pieceBytes });

describe('a block that is read in pieces', () => {
  it('yields the same as a block in memory, however it is written and cut', async () => {
    await fc.assert(
      fc.asyncProperty(fc.integer(), async (seed) => {
        const draw = drawFrom(seed);
        const bytes = Buffer.from(readableBlock(draw, { quoting: draw(3) === 0 }));
        const held = searchBlock(bytes, { slot: 7n, watched, node: NODE });
        const long = await read(bytes, draw, 1 + draw(2_000), draw(4_000));
        expect(long.header).toEqual(held.header);
        expect(long.signaturesHash).toBe(held.signaturesHash);
        expect(long.candidates.toSorted()).toEqual(held.candidates.toSorted());
        expect(findingOf(long, known)).toEqual(findingOf(held, known));
        const named = readBlock(bytes, 7n).transactions.flatMap(addressesOf);
        expect(named.filter((address) => !long.retained.names.has(address))).toEqual([]);
      }),
      { numRuns: 300 },
    );
  });

  it('contains matches, so that the property is not empty', () => {
    const findings = Array.from({ length: 50 }, (_, seed) => {
      const bytes = Buffer.from(readableBlock(drawFrom(seed)));
      return findingOf(searchBlock(bytes, { slot: 7n, watched, node: NODE }), known);
    });
    expect(findings.flatMap(({ inflows }) => inflows).length).toBeGreaterThan(50);
    expect(findings.flatMap(({ outflows }) => outflows).length).toBeGreaterThan(50);
  });

  it('is refused when it is cut off at any byte', async () => {
    const draw = drawFrom(5);
    const bytes = Buffer.from(readableBlock(draw).trimEnd());
    for (let length = 0; length < bytes.length; length += 7)
      await expect(read(bytes.subarray(0, length), draw)).rejects.toMatchObject({ code: 'NodeFault' });
  });

  it.each<[string, (draw: Draw) => string]>([
    ['has no transactions', (draw) => write(draw, { result: { signatures: [] } })],
    ['has transactions null', () => '{"result":{"transactions":null}}'],
    ['is no object', () => `[${'1,'.repeat(5_000)}1]`],
    [
      'holds an entry that is no transaction',
      (draw) => readableBlock(draw).replace(/("transactions"\s*:\s*\[)/, '$17,'),
    ],
  ])('is refused when it %s', async (_name, text) => {
    const draw = drawFrom(3);
    await expect(read(Buffer.from(text(draw)), draw)).rejects.toMatchObject({ code: 'NodeFault' });
  });

  it.each([
    ['a transaction', '{"result":{"transactions":[{"a":"'],
    ['the text before its transactions', '{"result":{"a":"'],
    ['the text after its transactions', '{"result":{"transactions":[],"a":"'],
  ])('is refused when %s has no end', async (_name, start) => {
    let given = 0;
    async function* endless(): AsyncGenerator<Uint8Array> {
      yield Buffer.from(start);
      for (;;) {
        given += 65_536;
        yield Buffer.alloc(65_536, 'x');
      }
    }
    const found = searchParts(endless(), 7n, watched, NODE);
    await expect(found).rejects.toMatchObject({ code: 'NodeFault' });
    expect(given).toBeLessThan(10 * 1_024 * 1_024);
  });

  it('throws the error that interrupts its pieces', async () => {
    async function* broken(): AsyncGenerator<Uint8Array> {
      yield Buffer.from('{"result":{"transactions":[');
      throw new Error('the line is cut');
    }
    await expect(searchParts(broken(), 7n, watched, NODE)).rejects.toThrow('the line is cut');
  });
});
