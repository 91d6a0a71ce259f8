import pLimit from 'p-limit';
import type { AgreedBlock, Coverage, Displacement } from '../../domain/attempt.ts';
import { lowest } from '../../domain/bigint.ts';
import { type BlockName, isSameBlock, parentOf } from '../../domain/block-link.ts';
import { DomainError } from '../../domain/errors.ts';
import { HISTORY_BOUNDS, type HistoryBounds } from '../history/pages.ts';
import type { NonceWalk } from '../nonces/history.ts';
import { NodeFault } from '../rpc/errors.ts';
import { getBlock, getBlocksWithLimit } from '../rpc/methods.ts';
import type { SolanaNode } from '../rpc/node.ts';
import type { NodePool } from '../rpc/pool.ts';
import { TtlCache } from '../rpc/ttl-cache.ts';
import { BlockSignatures } from './block-signatures.ts';

/** A finalized block with the signatures of its transactions. */
export interface LinkedBlock extends BlockName {
  readonly parentSlot: bigint;
  readonly previousBlockhash: string;
  readonly signatures: Pick<BlockSignatures, 'size' | 'has'>;
}

/** A block as one node shows it. */
interface ShownBlock extends LinkedBlock {
  readonly signatures: ReadonlySet<string>;
}

/** A block that so many nodes show with the same parent and the same transactions. */
interface WitnessedBlock extends LinkedBlock {
  readonly witnesses: number;
}

/** Finalized blocks without a gap, newest first, from one that a quorum agrees on to another. */
export interface LinkedRange {
  readonly blocks: readonly WitnessedBlock[];
  readonly first: AgreedBlock;
  readonly last: AgreedBlock;
}

/**
 * What one watcher has read of the finalized chain: blocks by slot, so that attempts of the same minute share their fetches, how
 * far long ranges were searched for a signature and lack it, and how far the histories of nonce accounts were.
 */
export interface BlockCache {
  readonly blocks: TtlCache<WitnessedBlock>;
  readonly searched: TtlCache<{ covered: Coverage }>;
  readonly walks: TtlCache<NonceWalk>;
  readonly history: HistoryBounds;
}

type Fetch = (slot: bigint) => Promise<WitnessedBlock>;

const FETCHES_AT_ONCE = 8;
const BLOCKS_KEPT = 1_000;
/** More than there are landings at once that need many looks. */
const SEARCHES_KEPT = 10_000;
/** Blocks of a long range that are held in memory together, and how often so many are read in one look: no other proof begins meanwhile. */
const PIECE = 500n;
const PIECES_A_LOOK = 4;

export function blockCache(history: HistoryBounds = HISTORY_BOUNDS): BlockCache {
  return {
    blocks: new TtlCache(Number.POSITIVE_INFINITY, BLOCKS_KEPT),
    searched: new TtlCache(Number.POSITIVE_INFINITY, SEARCHES_KEPT),
    walks: new TtlCache(Number.POSITIVE_INFINITY, SEARCHES_KEPT),
    history,
  };
}

/** A block with its parent, as the same nodes show it. */
type AgreedHeader = AgreedBlock & Pick<LinkedBlock, 'parentSlot'>;

/** The finalized block of a slot as a quorum shows it, height and parent included; null where too few nodes agree. */
export async function agreedBlock(pool: NodePool, slot: bigint): Promise<AgreedHeader | null> {
  const answers = await pool.all((node) => readBlock(node, slot, 'none'));
  const shown = answers.flatMap(({ node, result }) =>
    result.status === 'fulfilled' ? [{ node, block: result.value }] : [],
  );
  for (const { block } of shown) {
    const { blockhash, height, parentSlot } = block;
    const agreeingNodes = shown
      .filter((other) => isSameBlock(other.block, block) && other.block.parentSlot === parentSlot)
      .map(({ node }) => node);
    if (agreeingNodes.length >= pool.quorum) return { slot, blockhash, height, parentSlot, agreeingNodes };
  }
  return null;
}

/**
 * The finalized blocks from `origin` to one of height above `lastHeight` (L) that a quorum agrees on, each linked to its parent by
 * slot, hash and height, and each shown with the same transactions by a quorum: neither one node alone nor one beside another that has
 * a hole can leave a signature out. Throws NoHealthyNode where that cannot be had: then nothing is proved.
 * Source: docs/decisions/0012-quorum.md.
 */
export async function linkedRange(
  pool: NodePool,
  origin: AgreedBlock,
  lastHeight: bigint,
  cache: BlockCache = blockCache(),
): Promise<LinkedRange> {
  const { last, slots } = await pool.read((node) => findEnd(pool, node, origin, lastHeight));
  const fetch = keptIn(cache, (slot) => witnessedBlock(pool, slot));
  const blocks = await walkDown(origin, last, slots, fetch);
  if (blocks !== null) return { blocks, first: origin, last };
  cache.blocks.clear();
  throw new DomainError('NoHealthyNode', `the blocks from ${origin.slot} to ${last.slot} do not link`);
}

/**
 * What the finalized chain has where the block of `slot` was confirmed and then lost to a fork. Throws as `NodePool.read` does
 * where no node names a block whose parent a quorum shows to lie before it.
 */
export function findDisplacement(pool: NodePool, slot: bigint): Promise<Omit<Displacement, 'sequence'>> {
  return pool.read(async (node) => {
    const [next] = await getBlocksWithLimit(node, slot, 1);
    const by = next === undefined ? null : await agreedBlock(pool, next);
    if (by !== null && by.parentSlot < slot) return { slot, by, parentSlot: by.parentSlot };
    throw new NodeFault(
      node.name,
      `getBlocksWithLimit: names no block that a quorum shows in place of ${slot}`,
    );
  });
}

/** What the range says about one signature. */
export function coverageOf({ blocks, first, last }: LinkedRange, signature: string): Coverage {
  const containsSignature = blocks.some((block) => block.signatures.has(signature));
  return { first, last, containsSignature, witnesses: Math.min(...blocks.map((block) => block.witnesses)) };
}

/**
 * What the linked blocks from that of one slot to that of another say about one signature, however many they are: those of earlier
 * looks are not read again. Throws as {@link linkedRange}; and where no quorum shows both ends, or the next look must go on.
 */
export async function coverageBetween(
  pool: NodePool,
  fromSlot: bigint,
  toSlot: bigint,
  signature: string,
  cache: BlockCache,
): Promise<Coverage> {
  const [first, end] = await Promise.all([agreedBlock(pool, fromSlot), agreedBlock(pool, toSlot)]);
  if (first === null || end === null)
    throw new DomainError('NoHealthyNode', `no quorum shows the blocks of slots ${fromSlot} and ${toSlot}`);
  const search = await cache.searched.get(`${fromSlot}/${signature}`, async () => ({
    covered: { first, last: first, containsSignature: false, witnesses: first.agreeingNodes.length },
  }));
  let { covered } = search;
  for (let pieces = 0; covered.last.height < end.height; pieces += 1) {
    if (pieces === PIECES_A_LOOK)
      throw new DomainError(
        'NoHealthyNode',
        `blocks are linked up to slot ${covered.last.slot} of ${toSlot}`,
      );
    const next = lowest([covered.last.height + PIECE, end.height]);
    const range = await linkedRange(pool, covered.last, next - 1n, cache);
    const piece = coverageOf(range, signature);
    covered = { ...piece, first, witnesses: Math.min(piece.witnesses, covered.witnesses) };
    if (covered.containsSignature) return covered;
    search.covered = covered;
  }
  return covered;
}

/** A block above L that a quorum agrees on, from one node's list. A hole in the list makes it higher, never the proof shorter. */
async function findEnd(
  pool: NodePool,
  node: SolanaNode,
  origin: AgreedBlock,
  lastHeight: bigint,
): Promise<{ readonly last: AgreedBlock; readonly slots: readonly bigint[] }> {
  const wanted = Number(lastHeight - origin.height) + 2;
  const slots = await getBlocksWithLimit(node, origin.slot, wanted);
  const end = slots.at(-1);
  const last = end === undefined ? null : await agreedBlock(pool, end);
  if (last !== null && last.height > lastHeight && last.height <= lastHeight + BigInt(BLOCKS_KEPT))
    return { last, slots };
  throw new NodeFault(
    node.name,
    `getBlocksWithLimit: ends with no block above height ${lastHeight} that a quorum shows`,
  );
}

/**
 * From `last` down to `origin`, by the links that each block names. `slots` is a hint of what will be needed, fetched at once. Null where
 * a link does not fit.
 */
async function walkDown(
  origin: BlockName,
  last: BlockName,
  slots: readonly bigint[],
  fetch: Fetch,
): Promise<WitnessedBlock[] | null> {
  await pLimit(FETCHES_AT_ONCE).map(slots, (slot) => fetch(slot).catch(() => null));
  const blocks: WitnessedBlock[] = [];
  for (let wanted = last; ; ) {
    const block = await fetch(wanted.slot);
    const isEnd = block.height <= origin.height;
    if (!isSameBlock(block, wanted) || (isEnd && !isSameBlock(block, origin))) return null;
    blocks.push(block);
    if (isEnd) return blocks;
    wanted = parentOf(block);
  }
}

function keptIn({ blocks }: BlockCache, fetch: Fetch): Fetch {
  return (slot) => blocks.get(String(slot), () => fetch(slot));
}

/** The finalized block of a slot as a quorum shows it, transactions included. Throws NoHealthyNode where too few agree. */
export async function witnessedBlock(pool: NodePool, slot: bigint): Promise<WitnessedBlock> {
  const shown = await pool.agreed((node, over) => readBlock(node, slot, 'signatures', over), isSameContent);
  if (shown !== null) {
    const signatures = new BlockSignatures(shown.answer.signatures);
    return { ...shown.answer, signatures, witnesses: shown.nodes.length };
  }
  throw new DomainError('NoHealthyNode', `no quorum shows block ${slot} with the same transactions`);
}

function isSameContent(one: ShownBlock, other: ShownBlock): boolean {
  return (
    isSameBlock(one, other) &&
    one.parentSlot === other.parentSlot &&
    one.previousBlockhash === other.previousBlockhash &&
    one.signatures.size === other.signatures.size &&
    [...one.signatures].every((signature) => other.signatures.has(signature))
  );
}

/** One finalized block as one node shows it. Throws NodeFault where it shows none, which never means that there is none. */
async function readBlock(
  node: SolanaNode,
  slot: bigint,
  transactionDetails: 'signatures' | 'none',
  over?: AbortSignal,
): Promise<ShownBlock> {
  const block = await getBlock(node, slot, { commitment: 'finalized', transactionDetails }, over);
  if (block === null || block.blockHeight === null)
    throw new NodeFault(node.name, `getBlock: shows no block ${slot}, or not its height`);
  // A block whose signatures were left out must never count as one without ours.
  if (transactionDetails === 'signatures' && block.signatures === undefined)
    throw new NodeFault(node.name, `getBlock: shows block ${slot} without its signatures`);
  const { blockhash, parentSlot, previousBlockhash, blockHeight } = block;
  const signatures = new Set(block.signatures ?? []);
  return { slot, blockhash, parentSlot, previousBlockhash, height: blockHeight, signatures };
}
