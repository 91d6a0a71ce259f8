import pLimit from 'p-limit';
import type { Coverage } from '../domain/attempt.ts';
import { RpcError } from './rpc/errors.ts';
import { getBlock, getBlocksWithLimit } from './rpc/methods.ts';
import type { SolanaNode } from './rpc/node.ts';
import type { NodePool } from './rpc/pool.ts';
import { TtlCache } from './ttl-cache.ts';

/** A finalized block with the signatures of its transactions. */
export interface LinkedBlock {
  readonly slot: bigint;
  readonly blockhash: string;
  readonly parentSlot: bigint;
  readonly previousBlockhash: string;
  readonly height: bigint;
  readonly signatures: ReadonlySet<string>;
}

/** The block that an attempt's blockhash comes from. */
export interface BlockhashOrigin {
  readonly blockhash: string;
  readonly blockhashSlot: bigint;
  /** Its block height. */
  readonly blockhashHeight: bigint;
}

/** Finalized blocks without a gap, and the nodes that agree on the last of them. */
export interface LinkedRange {
  /** Newest first. */
  readonly blocks: readonly LinkedBlock[];
  readonly first: LinkedBlock;
  readonly last: LinkedBlock;
  readonly agreeingNodes: readonly string[];
}

/** Finalized blocks of one watcher by slot, so that attempts of the same minute share their fetches. */
export type BlockCache = TtlCache<LinkedBlock>;

/** Thrown inside the cache, which keeps no failures: what one node cannot give now, another may give later. */
class NoBlock extends Error {}

const FETCHES_AT_ONCE = 8;
const BLOCKS_KEPT = 1_000;

export function blockCache(): BlockCache {
  return new TtlCache(Number.POSITIVE_INFINITY, BLOCKS_KEPT);
}

/**
 * The finalized blocks from the one of a blockhash to the first of height above `lastHeight` (L), each linked to its parent by
 * slot and hash, their end agreed by other nodes. Null where a link is missing: then nothing is proved.
 * Source: DESIGN "When an attempt is dead" 3b; solana §2.3.3.
 */
export async function linkedRange(
  pool: NodePool,
  origin: BlockhashOrigin,
  lastHeight: bigint,
  cache: BlockCache = blockCache(),
): Promise<LinkedRange | null> {
  const top = await firstAbove(pool, origin, lastHeight, cache);
  if (top === null) return null;
  const blocks = await walkDown(pool, origin, top, cache);
  const last = blocks?.findLast((block) => block.height > lastHeight);
  const first = blocks?.at(-1);
  if (blocks === null || last === undefined || first === undefined) return null;
  return { blocks, first, last, agreeingNodes: await agreeing(pool, last) };
}

/** What the range says about one signature. */
export function coverageOf(range: LinkedRange, signature: string): Coverage {
  const { blocks, first, last, agreeingNodes } = range;
  return {
    firstBlockhash: first.blockhash,
    fromHeight: first.height,
    toHeight: last.height,
    lastSlot: last.slot,
    lastBlockhash: last.blockhash,
    agreeingNodes,
    containsSignature: blocks.some((block) => block.signatures.has(signature)),
  };
}

/** A finalized block above L. The list of slots is a hint only: a hole in it makes the block higher, never the proof shorter. */
async function firstAbove(
  pool: NodePool,
  origin: BlockhashOrigin,
  lastHeight: bigint,
  cache: BlockCache,
): Promise<LinkedBlock | null> {
  const wanted = Number(lastHeight - origin.blockhashHeight) + 2;
  const slots = await pool.read((node) => getBlocksWithLimit(node, origin.blockhashSlot, wanted));
  const blocks = await pLimit(FETCHES_AT_ONCE).map(slots, (slot) => fetchBlock(pool, slot, cache));
  return blocks.find((block) => block !== null && block.height > lastHeight) ?? null;
}

/** From `top` down to the block of the attempt's blockhash, newest first; null where a link does not fit. */
async function walkDown(
  pool: NodePool,
  origin: BlockhashOrigin,
  top: LinkedBlock,
  cache: BlockCache,
): Promise<LinkedBlock[] | null> {
  const chain = [top];
  for (let child = top; child.blockhash !== origin.blockhash; ) {
    if (child.height <= origin.blockhashHeight) return null;
    const parent = await fetchBlock(pool, child.parentSlot, cache);
    const linked = parent?.blockhash === child.previousBlockhash && parent.height + 1n === child.height;
    if (parent === null || !linked) return null;
    chain.push(parent);
    child = parent;
  }
  return chain;
}

/** One finalized block, or null where no node gives it: which never means that there is none. */
async function fetchBlock(pool: NodePool, slot: bigint, cache: BlockCache): Promise<LinkedBlock | null> {
  try {
    return await cache.get(String(slot), async () => {
      const block = await pool.read((node) => readBlock(node, slot, 'signatures'));
      if (block === null) throw new NoBlock(`no node gives block ${slot}`);
      return block;
    });
  } catch (error) {
    const absent = error instanceof NoBlock || (error instanceof RpcError && error.reaction !== 'stop');
    if (absent) return null;
    throw error;
  }
}

async function readBlock(
  node: SolanaNode,
  slot: bigint,
  transactionDetails: 'signatures' | 'none',
): Promise<LinkedBlock | null> {
  const block = await getBlock(node, slot, { commitment: 'finalized', transactionDetails });
  if (block === null || block.blockHeight === null) return null;
  // A block whose signatures were left out must never count as one without ours.
  if (transactionDetails === 'signatures' && block.signatures === undefined) return null;
  const { blockhash, parentSlot, previousBlockhash, blockHeight } = block;
  const signatures = new Set(block.signatures ?? []);
  return { slot, blockhash, parentSlot, previousBlockhash, height: blockHeight, signatures };
}

async function agreeing(pool: NodePool, last: LinkedBlock): Promise<string[]> {
  const answers = await pool.all((node) => readBlock(node, last.slot, 'none'));
  return answers.flatMap(({ node, result }) =>
    result.status === 'fulfilled' && result.value?.blockhash === last.blockhash ? [node] : [],
  );
}
