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
  readonly minAgreeingNodes: number;
}

/** Finalized blocks without a gap, newest first. A quorum agrees on `first`, the oldest, and `last`, the newest. */
export interface LinkedRange {
  readonly blocks: readonly ConfirmedBlock[];
  readonly first: AgreedBlock;
  readonly last: AgreedBlock;
}

/** What one process has read of the finalized chain, shared by all its investigations. */
export interface BlockCache {
  /** By slot. */
  readonly blocks: TtlCache<ConfirmedBlock>;
  /** By first slot and signature, the part of a long range that is already searched. */
  readonly searched: TtlCache<{ coverage: Coverage }>;
  /** By nonce account and nonce, how far the account's history is read. */
  readonly walks: TtlCache<NonceWalk>;
  readonly history: HistoryBounds;
}

type FetchConfirmedBlock = (slot: Slot) => Promise<ConfirmedBlock>;

const MAX_CONCURRENT_FETCHES = 8;
const MAX_CACHED_BLOCKS = 1_000;
/** Exceeds the number of concurrent attempts that need several investigations. */
const MAX_CACHED_SEARCHES = 10_000;
/** Blocks of a long range that are in memory at the same time. */
const PIECE_BLOCKS = 500n;
/** An investigation of a long range delays all others, so it ends after this many pieces. */
const MAX_PIECES_PER_CALL = 4;

export function blockCache(history: HistoryBounds = HISTORY_BOUNDS): BlockCache {
  return {
    blocks: new TtlCache(Number.POSITIVE_INFINITY, MAX_CACHED_BLOCKS),
    searched: new TtlCache(Number.POSITIVE_INFINITY, MAX_CACHED_SEARCHES),
    walks: new TtlCache(Number.POSITIVE_INFINITY, MAX_CACHED_SEARCHES),
    history,
  };
}

type AgreedHeader = AgreedBlock & Pick<LinkedBlock, 'parentSlot'>;

/** The finalized block of a slot, without its transactions; null if fewer than a quorum of nodes agree on it. */
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
 * The finalized blocks from `origin` to a block above `lastHeight` (L). Each block is linked to its parent by slot,
 * hash and height, and a quorum returns the block with the same transactions. So neither a node that lies nor a node
 * that lacks blocks can hide a signature. Throws NoHealthyNode if these blocks are not available.
 * Source: docs/decisions/0012-quorum.md.
 */
export async function linkedRange(
  pool: NodePool,
  origin: AgreedBlock,
  lastHeight: BlockHeight,
  cache: BlockCache = blockCache(),
): Promise<LinkedRange> {
  const { last, slots } = await pool.read((node) => findEnd(pool, node, origin, lastHeight));
  const fetch = cachedIn(cache, (slot) => confirmedBlock(pool, slot));
  const blocks = await walkDown(origin, last, slots, fetch);
  if (blocks !== null) return { blocks, first: origin, last };
  cache.blocks.clear();
  throw new DomainError(
    'NoHealthyNode',
    `the blocks from slot ${origin.slot} to slot ${last.slot} do not link`,
  );
}

/**
 * The finalized block that replaced the confirmed block of `slot` after a fork. Throws like `NodePool.read` if no node
 * lists a block for which a quorum returns a parent before `slot`.
 */
export function findDisplacement(pool: NodePool, slot: Slot): Promise<Omit<Displacement, 'sequence'>> {
  return pool.read(async (node) => {
    const [next] = await getBlocksWithLimit(node, slot, 1);
    const by = next === undefined ? null : await agreedBlock(pool, next);
    if (by !== null && by.parentSlot < slot) return { slot, by, parentSlot: by.parentSlot };
    throw new NodeFault(
      node.name,
      `getBlocksWithLimit: no quorum agrees that the next listed block replaced the block of slot ${slot}`,
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
 * Coverage of the linked blocks from one slot to another, for a range of any length. Pieces that earlier investigations
 * have searched are not read again. Throws like {@link linkedRange}; also throws NoHealthyNode if no quorum agrees on
 * both ends, or if the range is so long that the next investigation must continue.
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
    throw new DomainError(
      'NoHealthyNode',
      `no quorum agrees on the blocks of slots ${fromSlot} and ${toSlot}`,
    );
  const search = await cache.searched.get(`${fromSlot}/${signature}`, async () => ({
    coverage: { first, last: first, containsSignature: false, minAgreeingNodes: first.agreeingNodes.length },
  }));
  let { coverage } = search;
  for (let pieces = 0; coverage.last.height < end.height; pieces += 1) {
    if (pieces === MAX_PIECES_PER_CALL)
      throw new DomainError(
        'NoHealthyNode',
        `blocks are linked up to slot ${coverage.last.slot} of ${toSlot}`,
      );
    const next = lowest([coverage.last.height + PIECE_BLOCKS, end.height]);
    const range = await linkedRange(pool, coverage.last, next - 1n, cache);
    const piece = coverageOf(range, signature);
    coverage = {
      ...piece,
      first,
      minAgreeingNodes: Math.min(piece.minAgreeingNodes, coverage.minAgreeingNodes),
    };
    if (coverage.containsSignature) return coverage;
    search.coverage = coverage;
  }
  return coverage;
}

/**
 * The end of the range: a block above L that `node` lists and on which a quorum agrees. If the list lacks blocks, the
 * end is only higher, so that the range still includes L.
 */
async function findEnd(
  pool: NodePool,
  node: SolanaNode,
  origin: AgreedBlock,
  lastHeight: BlockHeight,
): Promise<{ readonly last: AgreedBlock; readonly slots: readonly bigint[] }> {
  const limit = Number(lastHeight - origin.height) + 2;
  const slots = await getBlocksWithLimit(node, origin.slot, limit);
  const end = slots.at(-1);
  const last = end === undefined ? null : await agreedBlock(pool, end);
  if (
    last !== null &&
    isAbove(last.height, lastHeight) &&
    last.height <= lastHeight + BigInt(MAX_CACHED_BLOCKS)
  )
    return { last, slots };
  throw new NodeFault(
    node.name,
    `getBlocksWithLimit: no quorum agrees that the last listed block is just above height ${lastHeight}`,
  );
}

/** The blocks from `last` back to `origin`, by parent links; null if a link does not match. `slots` are prefetched. */
async function walkDown(
  origin: BlockId,
  last: BlockId,
  slots: readonly bigint[],
  fetch: FetchConfirmedBlock,
): Promise<ConfirmedBlock[] | null> {
  await pLimit(MAX_CONCURRENT_FETCHES).map(slots, (slot) => fetch(slot).catch(nullIfNodesFail));
  const blocks: ConfirmedBlock[] = [];
  for (let next = last; ; ) {
    const block = await fetch(next.slot);
    const isEnd = block.height <= origin.height;
    if (!isSameBlock(block, next) || (isEnd && !isSameBlock(block, origin))) return null;
    blocks.push(block);
    if (isEnd) return blocks;
    next = parentOf(block);
  }
}

function cachedIn({ blocks }: BlockCache, fetch: FetchConfirmedBlock): FetchConfirmedBlock {
  return (slot) => blocks.get(String(slot), () => fetch(slot));
}

/** The finalized block of a slot, with its signatures. Throws NoHealthyNode if fewer than a quorum of nodes agree. */
export async function confirmedBlock(pool: NodePool, slot: Slot): Promise<ConfirmedBlock> {
  const agreed = await pool.agreed(
    (node, signal) => readBlock(node, slot, 'signatures', signal),
    isSameContent,
  );
  if (agreed !== null) {
    const signatures = new BlockSignatures(agreed.answer.signatures);
    return { ...agreed.answer, signatures, minAgreeingNodes: agreed.nodes.length };
  }
  throw new DomainError('NoHealthyNode', `no quorum agrees on the transactions in block ${slot}`);
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

/**
 * One node's finalized block. Throws NodeFault if the node returns none: that does not prove that the slot is empty.
 */
async function readBlock(
  node: SolanaNode,
  slot: Slot,
  transactionDetails: 'signatures' | 'none',
  signal?: AbortSignal,
): Promise<NodeBlock> {
  const block = await getBlock(node, slot, { commitment: 'finalized', transactionDetails }, signal);
  if (block === null || block.blockHeight === null)
    throw new NodeFault(node.name, `getBlock: returns no block for slot ${slot}, or a block without height`);
  // A block without a list of signatures must not count as a block that lacks our signature.
  if (transactionDetails === 'signatures' && block.signatures === undefined)
    throw new NodeFault(node.name, `getBlock: returns block ${slot} without signatures`);
  const { blockhash, parentSlot, previousBlockhash, blockHeight } = block;
  const signatures = new Set(block.signatures ?? []);
  return { slot, blockhash, parentSlot, previousBlockhash, height: blockHeight, signatures };
}
