import type { AttemptFacts, Coverage } from '../domain/attempt.ts';
import { RpcError } from './rpc/errors.ts';
import type { SolanaNode } from './rpc/node.ts';
import type { NodePool } from './rpc/pool.ts';
import { blockAnswer, slotsAnswer } from './rpc/schemas.ts';

/** A finalized block with the signatures of its transactions. */
export interface LinkedBlock {
  readonly slot: bigint;
  readonly blockhash: string;
  readonly parentSlot: bigint;
  readonly previousBlockhash: string;
  readonly height: bigint;
  readonly signatures: ReadonlySet<string>;
}

/** What is asked about: the attempt and the slot of the block that carries its blockhash. */
export type CoveredAttempt = AttemptFacts & { readonly blockhashSlot: bigint };

const FETCHES_AT_ONCE = 8;

/** Finalized blocks of one watcher, so that attempts of the same minute share their fetches. Holds the newest 1,000. */
export class BlockCache {
  readonly #blocks = new Map<bigint, LinkedBlock>();

  get(slot: bigint): LinkedBlock | undefined {
    return this.#blocks.get(slot);
  }

  put(block: LinkedBlock): void {
    this.#blocks.set(block.slot, block);
    const oldest = this.#blocks.keys().next().value;
    if (this.#blocks.size > 1_000 && oldest !== undefined) this.#blocks.delete(oldest);
  }
}

/**
 * The finalized blocks from the one whose blockhash the attempt carries to the first of height above `lastHeight` (L),
 * each linked to its parent by slot and hash, their end agreed by other nodes. Null where a link is missing: then nothing is proved.
 * Source: DESIGN "When an attempt is dead" 3b; solana §2.3.3.
 */
export async function linkedCoverage(
  pool: NodePool,
  attempt: CoveredAttempt,
  lastHeight: bigint,
  cache: BlockCache = new BlockCache(),
): Promise<Coverage | null> {
  const top = await firstAbove(pool, attempt, lastHeight, cache);
  if (top === null) return null;
  const chain = await walkDown(pool, attempt, top, cache);
  const last = chain?.findLast((block) => block.height > lastHeight);
  const first = chain?.at(-1);
  if (chain === null || last === undefined || first === undefined) return null;
  const { signature } = attempt;
  return {
    firstBlockhash: first.blockhash,
    fromHeight: first.height,
    toHeight: last.height,
    lastSlot: last.slot,
    lastBlockhash: last.blockhash,
    agreeingNodes: await agreeing(pool, last),
    containsSignature: signature !== null && chain.some((block) => block.signatures.has(signature)),
  };
}

/** A finalized block above L. The list of slots is a hint only: a hole in it makes the block higher, never the proof shorter. */
async function firstAbove(
  pool: NodePool,
  attempt: CoveredAttempt,
  lastHeight: bigint,
  cache: BlockCache,
): Promise<LinkedBlock | null> {
  const wanted = Number(lastHeight - attempt.blockhashHeight) + 2;
  const params = [Number(attempt.blockhashSlot), wanted, { commitment: 'finalized' }];
  const slots = await pool.read((node) => node.call('getBlocksWithLimit', params, slotsAnswer));
  await fetchAll(pool, slots, cache);
  const blocks = slots.flatMap((slot) => cache.get(slot) ?? []);
  return blocks.find((block) => block.height > lastHeight) ?? null;
}

/** From `top` down to the block of the attempt's blockhash, newest first; null where a link does not fit. */
async function walkDown(
  pool: NodePool,
  attempt: CoveredAttempt,
  top: LinkedBlock,
  cache: BlockCache,
): Promise<LinkedBlock[] | null> {
  const chain = [top];
  for (let child = top; child.blockhash !== attempt.blockhash; ) {
    if (child.height <= attempt.blockhashHeight) return null;
    const parent = cache.get(child.parentSlot) ?? (await fetchBlock(pool, child.parentSlot, cache));
    const linked = parent?.blockhash === child.previousBlockhash && parent.height + 1n === child.height;
    if (parent === null || !linked) return null;
    chain.push(parent);
    child = parent;
  }
  return chain;
}

async function fetchAll(pool: NodePool, slots: readonly bigint[], cache: BlockCache): Promise<void> {
  const missing = slots.filter((slot) => cache.get(slot) === undefined).values();
  const lanes = Array.from({ length: FETCHES_AT_ONCE }, async () => {
    for (const slot of missing) await fetchBlock(pool, slot, cache);
  });
  await Promise.all(lanes);
}

/** One finalized block, or null where no node gives it: which never means that there is none. */
async function fetchBlock(pool: NodePool, slot: bigint, cache: BlockCache): Promise<LinkedBlock | null> {
  try {
    const block = await pool.read((node) => readBlock(node, slot, 'signatures'));
    if (block !== null) cache.put(block);
    return block;
  } catch (error) {
    if (error instanceof RpcError && error.reaction !== 'stop') return null;
    throw error;
  }
}

async function readBlock(
  node: SolanaNode,
  slot: bigint,
  transactionDetails: 'signatures' | 'none',
): Promise<LinkedBlock | null> {
  const options = {
    commitment: 'finalized',
    transactionDetails,
    rewards: false,
    maxSupportedTransactionVersion: 1,
  };
  const block = await node.call('getBlock', [Number(slot), options], blockAnswer);
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
