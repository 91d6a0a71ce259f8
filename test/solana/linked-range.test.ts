import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { type Localnet, startLocalnet } from '../../devkit/localnet/localnet.ts';
import type { AgreedBlock } from '../../src/domain/attempt.ts';
import {
  agreedBlock,
  type BlockCache,
  blockCache,
  linkedRange,
} from '../../src/solana/proof/linked-blocks.ts';
import { type NodePool, openNodePool } from '../../src/solana/rpc/pool.ts';
import { type BlockAnswer, type FalseResult, falseHash, startLiar } from './lying-node.ts';
import type { ScriptedNode } from './rpc-scripted-node.ts';

const TRUTH: FalseResult = () => undefined;
const FIRST = 5;
const FALSE = 8;
const LAST = 12;

let localnet: Localnet;
let liars: readonly ScriptedNode[];
let pool: NodePool;
let origin: AgreedBlock;
let cache: BlockCache;
let lie: FalseResult = TRUTH;

beforeAll(async () => {
  localnet = await startLocalnet({ slotMs: 0, finalityLag: 4, nodes: 2 });
  localnet.controls.produceSlots(40);
  liars = await Promise.all(localnet.rpcUrls.map((url) => startLiar(url, () => lie)));
  pool = await openNodePool(liars.map(({ url }) => url));
  origin = await agreedBlockAt(FIRST);
});
beforeEach(() => {
  cache = blockCache();
});
afterEach(() => {
  lie = TRUTH;
});
afterAll(async () => {
  await pool?.close();
  for (const liar of liars ?? []) await liar.close();
  await localnet?.close();
});

async function agreedBlockAt(slot: number): Promise<AgreedBlock> {
  const block = await agreedBlock(pool, BigInt(slot));
  if (block === null) throw new Error(`no quorum shows the block of slot ${slot}`);
  return block;
}

/** Slots of the blocks that are read from `from` to the last one, newest first. */
async function read(from = origin): Promise<readonly number[]> {
  const { height } = await agreedBlockAt(LAST - 1);
  const { blocks } = await linkedRange(pool, from, height, cache);
  return blocks.map(({ slot }) => Number(slot));
}

/** All nodes agree on a block of slot {@link FALSE} that is not so. */
function all(spoil: (block: BlockAnswer) => Partial<BlockAnswer>): void {
  lie = ({ method, params }, truth) => {
    if (method !== 'getBlock' || params[0] !== FALSE) return undefined;
    const block = truth as BlockAnswer;
    return { ...block, ...spoil(block) };
  };
}

describe('a range of blocks', () => {
  const WHOLE_SYSTEM = [12, 11, 10, 9, 8, 7, 6, 5];

  it.each<[string, (block: BlockAnswer) => Partial<BlockAnswer>]>([
    ['another hash than the next one names', () => ({ blockhash: falseHash(1) })],
    ['a height that does not fit the next one', ({ blockHeight }) => ({ blockHeight: blockHeight - 1 })],
    ['a parent of another hash', () => ({ previousBlockhash: falseHash(2) })],
    ['a parent further down', () => ({ parentSlot: FALSE - 2 })],
  ])(
    'is unavailable while all nodes return a block with %s, and is read again once they return the true one',
    async (_name, spoil) => {
      all(spoil);
      await expect(read()).rejects.toMatchObject({
        code: 'NoHealthyNode',
        message: expect.stringContaining(`the blocks from slot ${FIRST} to slot ${LAST} do not link`),
      });
      lie = TRUTH;
      expect(await read()).toEqual(WHOLE_SYSTEM);
    },
  );

  it('is unavailable when its blocks do not link to its first block', async () => {
    await expect(read({ ...origin, blockhash: falseHash(3) })).rejects.toThrow('do not link');
    expect(await read()).toEqual(WHOLE_SYSTEM);
  });
});
