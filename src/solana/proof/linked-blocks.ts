import pLimit from 'p-limit';
import type { AgreedBlock, Coverage, Displacement } from '../../domain/attempt.ts';
import { type BlockId, isSameBlock, parentOf } from '../../domain/block-link.ts';
import { DomainError } from '../../domain/errors.ts';
import {
  type BlockHeight,
  type Blockhash,
  isAbove,
  lowest,
  type Signature,
  type Slot,
} from '../../domain/units.ts';
import { HISTORY_BOUNDS, type HistoryBounds } from '../history/pages.ts';
import type { NonceWalk } from '../nonces/history.ts';
import { NodeFault, nullIfNodesFail } from '../rpc/errors.ts';
import { getBlock, getBlocksWithLimit } from '../rpc/methods.ts';
import type { SolanaNode } from '../rpc/node.ts';
import type { NodePool } from '../rpc/pool.ts';
import { agree, answersIn } from '../rpc/quorum.ts';
import { TtlCache } from '../rpc/ttl-cache.ts';
import { BlockSignatures } from './block-signatures.ts';

export interface LinkedBlock extends BlockId {
  readonly parentSlot: Slot;
  readonly previousBlockhash: Blockhash;
  readonly signatures: Pick<BlockSignatures, 'size' | 'has'>;
}

interface NodeBlock extends LinkedBlock {
  readonly signatures: ReadonlySet<string>;
}

/** A block that a quorum returns with the same parent and the same transactions. */
interface ConfirmedBlock extends LinkedBlock {
  /** At least this many nodes return it alike. */
  readonly minAgreeingNodes: number;
}

/** Finalized blocks without a gap, newest first; a quorum agrees on both ends. */
export interface LinkedRange {
  readonly blocks: readonly ConfirmedBlock[];
  readonly first: AgreedBlock;
  readonly last: AgreedBlock;
}

/**
 * The finalized chain as one watcher has read it. `blocks`: by slot, shared by attempts of the same minute.
 * `searched`: how far long ranges lack a signature. `walks`: how far the histories of nonce accounts are read.
 */
export interface BlockCache {
  readonly blocks: TtlCache<ConfirmedBlock>;
  readonly searched: TtlCache<{ covered: Coverage }>;
  readonly walks: TtlCache<NonceWalk>;
  readonly history: HistoryBounds;
}

type Fetch = (slot: Slot) => Promise<ConfirmedBlock>;

const FETCHES_AT_ONCE = 8;
const BLOCKS_KEPT = 1_000;
/** More than the number of concurrent landings that need several investigations. */
const SEARCHES_KEPT = 10_000;
/** Blocks of a long range in memory at once, and pieces per investigation: no other proof starts meanwhile. */
const PIECE = 500n;
const PIECES_PER_CALL = 4;

export function blockCache(history: HistoryBounds = HISTORY_BOUNDS): BlockCache {
  return {
    blocks: new TtlCache(Number.POSITIVE_INFINITY, BLOCKS_KEPT),
    searched: new TtlCache(Number.POSITIVE_INFINITY, SEARCHES_KEPT),
    walks: new TtlCache(Number.POSITIVE_INFINITY, SEARCHES_KEPT),
    history,
  };
}

type AgreedHeader = AgreedBlock & Pick<LinkedBlock, 'parentSlot'>;

/** The finalized block of a slot as a quorum returns it, with height and parent; null if too few nodes agree. */
export async function agreedBlock(pool: NodePool, slot: Slot): Promise<AgreedHeader | null> {
  const answers = answersIn(await pool.all((node) => readBlock(node, slot, 'none')));
  const agreed = agree(
    answers,
    pool.quorum,
    (one, other) => isSameBlock(one, other) && one.parentSlot === other.parentSlot,
  );
  if (agreed === null) return null;
  const { blockhash, height, parentSlot } = agreed.answer;
  return { slot, blockhash, height, parentSlot, agreeingNodes: agreed.nodes };
}

/**
 * The finalized blocks from `origin` to a block above `lastHeight` (L) that a quorum agrees on. Each block is linked
 * to its parent by slot, hash and height, and a quorum returns it with the same transactions. So neither one lying
 * node nor one with a hole in its ledger can leave a signature out. Throws NoHealthyNode if that is not available:
 * then nothing is proved.
 * Source: docs/decisions/0012-quorum.md.
 */
export async function linkedRange(
  pool: NodePool,
  origin: AgreedBlock,
  lastHeight: BlockHeight,
  cache: BlockCache = blockCache(),
): Promise<LinkedRange> {
  const { last, slots } = await pool.read((node) => findEnd(pool, node, origin, lastHeight));
  const fetch = keptIn(cache, (slot) => confirmedBlock(pool, slot));
  const blocks = await walkDown(origin, last, slots, fetch);
  if (blocks !== null) return { blocks, first: origin, last };
  cache.blocks.clear();
  throw new DomainError('NoHealthyNode', `the blocks from ${origin.slot} to ${last.slot} do not link`);
}

/**
 * The finalized block that replaced the confirmed block of `slot` after a fork. Throws as `NodePool.read` does if no
 * node names a block whose parent, by a quorum, is before that slot.
 */
export function findDisplacement(pool: NodePool, slot: Slot): Promise<Omit<Displacement, 'sequence'>> {
  return pool.read(async (node) => {
    const [next] = await getBlocksWithLimit(node, slot, 1);
    const by = next === undefined ? null : await agreedBlock(pool, next);
    if (by !== null && by.parentSlot < slot) return { slot, by, parentSlot: by.parentSlot };
    throw new NodeFault(
      node.name,
      `getBlocksWithLimit: names no block that a quorum returns in place of ${slot}`,
    );
  });
}

export function coverageOf({ blocks, first, last }: LinkedRange, signature: Signature): Coverage {
  const containsSignature = blocks.some((block) => block.signatures.has(signature));
  return {
    first,
    last,
    containsSignature,
    minAgreeingNodes: Math.min(...blocks.map((block) => block.minAgreeingNodes)),
  };
}

/**
 * Whether the linked blocks from one slot to another contain a signature, for a range of any length. Blocks of
 * earlier investigations are not read again. Throws as {@link linkedRange}, and NoHealthyNode if no quorum returns
 * both ends, or the next investigation must continue.
 */
export async function coverageBetween(
  pool: NodePool,
  fromSlot: Slot,
  toSlot: Slot,
  signature: Signature,
  cache: BlockCache,
): Promise<Coverage> {
  const [first, end] = await Promise.all([agreedBlock(pool, fromSlot), agreedBlock(pool, toSlot)]);
  if (first === null || end === null)
    throw new DomainError('NoHealthyNode', `no quorum returns the blocks of slots ${fromSlot} and ${toSlot}`);
  const search = await cache.searched.get(`${fromSlot}/${signature}`, async () => ({
    covered: { first, last: first, containsSignature: false, minAgreeingNodes: first.agreeingNodes.length },
  }));
  let { covered } = search;
  for (let pieces = 0; covered.last.height < end.height; pieces += 1) {
    if (pieces === PIECES_PER_CALL)
      throw new DomainError(
        'NoHealthyNode',
        `blocks are linked up to slot ${covered.last.slot} of ${toSlot}`,
      );
    const next = lowest([covered.last.height + PIECE, end.height]);
    const range = await linkedRange(pool, covered.last, next - 1n, cache);
    const piece = coverageOf(range, signature);
    covered = {
      ...piece,
      first,
      minAgreeingNodes: Math.min(piece.minAgreeingNodes, covered.minAgreeingNodes),
    };
    if (covered.containsSignature) return covered;
    search.covered = covered;
  }
  return covered;
}

/** A block above L by a quorum, from one node's list. A hole in the list makes it higher, never the proof shorter. */
async function findEnd(
  pool: NodePool,
  node: SolanaNode,
  origin: AgreedBlock,
  lastHeight: BlockHeight,
): Promise<{ readonly last: AgreedBlock; readonly slots: readonly bigint[] }> {
  const wanted = Number(lastHeight - origin.height) + 2;
  const slots = await getBlocksWithLimit(node, origin.slot, wanted);
  const end = slots.at(-1);
  const last = end === undefined ? null : await agreedBlock(pool, end);
  if (last !== null && isAbove(last.height, lastHeight) && last.height <= lastHeight + BigInt(BLOCKS_KEPT))
    return { last, slots };
  throw new NodeFault(
    node.name,
    `getBlocksWithLimit: ends with no block above height ${lastHeight} that a quorum returns`,
  );
}

/** From `last` down to `origin`, parent by parent; null if a link does not match. `slots`: a hint for fetching. */
async function walkDown(
  origin: BlockId,
  last: BlockId,
  slots: readonly bigint[],
  fetch: Fetch,
): Promise<ConfirmedBlock[] | null> {
  await pLimit(FETCHES_AT_ONCE).map(slots, (slot) => fetch(slot).catch(nullIfNodesFail));
  const blocks: ConfirmedBlock[] = [];
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

/** The finalized block of a slot with its transactions, by a quorum. Throws NoHealthyNode if too few nodes agree. */
export async function confirmedBlock(pool: NodePool, slot: Slot): Promise<ConfirmedBlock> {
  const shown = await pool.agreed((node, over) => readBlock(node, slot, 'signatures', over), isSameContent);
  if (shown !== null) {
    const signatures = new BlockSignatures(shown.answer.signatures);
    return { ...shown.answer, signatures, minAgreeingNodes: shown.nodes.length };
  }
  throw new DomainError('NoHealthyNode', `no quorum returns block ${slot} with the same transactions`);
}

function isSameContent(one: NodeBlock, other: NodeBlock): boolean {
  return (
    isSameBlock(one, other) &&
    one.parentSlot === other.parentSlot &&
    one.previousBlockhash === other.previousBlockhash &&
    one.signatures.size === other.signatures.size &&
    [...one.signatures].every((signature) => other.signatures.has(signature))
  );
}

/** One finalized block from one node. Throws NodeFault if it returns none, which never means that there is none. */
async function readBlock(
  node: SolanaNode,
  slot: Slot,
  transactionDetails: 'signatures' | 'none',
  over?: AbortSignal,
): Promise<NodeBlock> {
  const block = await getBlock(node, slot, { commitment: 'finalized', transactionDetails }, over);
  if (block === null || block.blockHeight === null)
    throw new NodeFault(node.name, `getBlock: returns no block ${slot}, or not its height`);
  // A block without its signature list must never count as a block without our signature.
  if (transactionDetails === 'signatures' && block.signatures === undefined)
    throw new NodeFault(node.name, `getBlock: returns block ${slot} without its signatures`);
  const { blockhash, parentSlot, previousBlockhash, blockHeight } = block;
  const signatures = new Set(block.signatures ?? []);
  return { slot, blockhash, parentSlot, previousBlockhash, height: blockHeight, signatures };
}
