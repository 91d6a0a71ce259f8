import { afterEach, describe, expect, it, vi } from 'vitest';
import { limitLongReads, searchParts } from '../../../src/solana/scan/bytes/oversized-block.ts';
import { splitBlock } from '../../../src/solana/scan/bytes/splitter.ts';
import { WatchSet } from '../../../src/solana/scan/bytes/watch-set.ts';
import { ADDRESSES } from './block-text.ts';

const MIB = 1_024 * 1_024;
const NODE = { name: 'node', maxTransactionVersion: 1 };

const HEAD = '{"result":{"transactions":[';
const BEHIND =
  '],"blockHeight":1,"blockTime":1,"blockhash":"a","parentSlot":1,"previousBlockhash":"b"},"id":1}';

const short = (signature: string, keys: readonly string[] = ADDRESSES.slice(0, 1), gain = 1): string => {
  const accountKeys = keys.map((pubkey) => ({ pubkey, signer: false }));
  const meta = {
    err: null,
    fee: 5_000,
    preBalances: keys.map(() => 0),
    postBalances: keys.map(() => gain),
    preTokenBalances: [],
    postTokenBalances: [],
  };
  return JSON.stringify({ transaction: { signatures: [signature], accountKeys }, meta, version: 0 });
};

/** An answer with these elements, over and over, and how often it gave them. */
function answerOf(elements: string, times: number) {
  const said = { times: 0 };
  async function* parts(): AsyncGenerator<Uint8Array> {
    yield Buffer.from(HEAD);
    const again = Buffer.from(`${elements},`);
    for (; said.times < times - 1; said.times += 1) yield again;
    yield Buffer.from(elements + BEHIND);
  }
  return { said, parts };
}

afterEach(() => {
  vi.restoreAllMocks();
});

describe('the memory that a long answer can use', () => {
  it('is one piece as received, and nothing for each of its elements', async () => {
    const joined = vi.spyOn(Buffer, 'concat');
    const { parts } = answerOf(Array.from({ length: 10_000 }, () => '[]').join(','), 4);
    let pieces = 0;
    for await (const _ of splitBlock(parts(), 4 * MIB)) pieces += 1;
    expect(pieces).toBe(2);
    expect(Math.max(...joined.mock.calls.map(([list]) => list.length))).toBeLessThan(10);
  });

  it.each([MIB, 89])('holds no overlong signature, such as one of %i characters', async (characters) => {
    const piece = Array.from({ length: 9 }, () => short('A'.repeat(88))).join(',');
    const { said, parts } = answerOf(`${piece},${short('A'.repeat(characters))}`, 100);
    const read = searchParts(parts(), 7n, new WatchSet(0), NODE, { pieceBytes: 1 });
    await expect(read).rejects.toMatchObject({
      code: 'NodeFault',
      message: expect.stringMatching(/^node returns transaction A{89,}.{0,60}$/),
    });
    expect(said.times).toBe(0);
  });

  it('holds no more watched wallets than allowed, even without an inflow', async () => {
    const named = ADDRESSES.slice(0, 4);
    const watched = new WatchSet(named.length);
    for (const address of named) watched.add(address);
    const elements = named.map((address) => short('A'.repeat(88), [address], 0)).join(',');
    const read = (findings: number) =>
      searchParts(answerOf(elements, 1).parts(), 7n, watched, NODE, { pieceBytes: 1, maxFindings: findings });
    await expect(read(4)).resolves.toMatchObject({ candidates: named, transactions: [] });
    await expect(read(3)).rejects.toThrow('more than 3 watched wallets');
  });

  it('holds no overlong error', async () => {
    const [payer = ''] = ADDRESSES;
    const watched = new WatchSet(1);
    watched.add(payer);
    const failed = short('A'.repeat(88), [payer]).replace('"err":null', `"err":"${'x'.repeat(MIB)}"`);
    const { said, parts } = answerOf(failed, 100);
    await expect(searchParts(parts(), 7n, watched, NODE)).rejects.toMatchObject({ code: 'NodeFault' });
    expect(said.times).toBeLessThan(10);
  });

  it('holds no more transactions than a block can have', async () => {
    const thousand = Array.from({ length: 1_000 }, () => short('A'.repeat(88))).join(',');
    const { said, parts } = answerOf(thousand, 1_000);
    const read = searchParts(parts(), 7n, new WatchSet(0), NODE);
    await expect(read).rejects.toMatchObject({
      code: 'NodeFault',
      message: expect.stringContaining('131072'),
    });
    expect(said.times).toBeLessThan(200);
  });

  it('holds no more watched wallets than a block can change or name', async () => {
    const wallets = ADDRESSES.slice(0, 3);
    const watched = new WatchSet(wallets.length);
    for (const wallet of wallets) watched.add(wallet);
    const { parts } = answerOf(short('A'.repeat(88), wallets), 10);
    const read = (findings: number) => searchParts(parts(), 7n, watched, NODE, { maxFindings: findings });
    expect((await read(30)).transactions).toHaveLength(10);
    const again = answerOf(short('A'.repeat(88), wallets), 1_000);
    const more = searchParts(again.parts(), 7n, watched, NODE, { maxFindings: 29, pieceBytes: 1 });
    await expect(more).rejects.toMatchObject({ code: 'NodeFault' });
    expect(again.said.times).toBeLessThan(20);
    const named = searchParts(answerOf(short('A'.repeat(88), wallets), 1).parts(), 7n, watched, NODE, {
      maxFindings: 2,
    });
    await expect(named).rejects.toMatchObject({ code: 'NodeFault' });
  });

  it('holds no transaction that only names a watched wallet', async () => {
    const [payer = '', wallet = ''] = ADDRESSES;
    const watched = new WatchSet(1);
    watched.add(wallet);
    const [named, paid] = [0, 1].map((gain) => short('A'.repeat(88), [payer, wallet], gain));
    const read = (elements = '') => searchParts(answerOf(elements, 5).parts(), 7n, watched, NODE);
    expect(await read(named)).toMatchObject({ candidates: [wallet], transactions: [] });
    expect((await read(paid)).transactions).toHaveLength(5);
  });

  it('names no more addresses than a block can name', async () => {
    const wallets = ADDRESSES.slice(0, 3);
    const read = (names: number) =>
      searchParts(answerOf(short('A'.repeat(88), wallets), 10).parts(), 7n, new WatchSet(0), NODE, {
        maxAddresses: names,
      });
    const { retained } = await read(3);
    expect([...wallets, 'no address'].filter((text) => retained.names.has(text))).toEqual(wallets);
    await expect(read(2)).rejects.toMatchObject({ code: 'NodeFault' });
  });

  it('holds two answers at once, and one per node', async () => {
    const begun: string[] = [];
    const ends: (() => void)[] = [];
    const [one, other, third] = ['one', 'other', 'third'].map((name) => ({ ...NODE, name }));
    const reads = [one, one, other, third].map((node = NODE) =>
      limitLongReads(node, async () => {
        begun.push(node.name);
        await new Promise<void>((end) => ends.push(end));
      }),
    );
    for (const last of [['one', 'other'], ['third'], ['one'], []]) {
      await expect.poll(() => begun.toSorted()).toEqual(last);
      begun.length = 0;
      await new Promise(setImmediate);
      expect(begun).toEqual([]);
      ends.shift()?.();
    }
    for (const end of ends) end();
    await Promise.all(reads);
  });
});
