import type { AgreedBlock, AttemptFacts } from '../../domain/attempt.ts';
import { DomainError } from '../../domain/errors.ts';
import { type BlockHeight, lowest, type Slot } from '../../domain/units.ts';
import { progressOf } from '../history/wallet-history.ts';
import { NodeFault } from '../rpc/errors.ts';
import { getBlocksWithLimit, getEpochInfo, getSignedTransaction, isBlockhashValid } from '../rpc/methods.ts';
import type { SolanaNode } from '../rpc/node.ts';
import type { NodePool } from '../rpc/pool.ts';
import { answersIn, highestQuorumValue } from '../rpc/quorum.ts';
import { TtlCache } from '../rpc/ttl-cache.ts';
import { askHeights } from './heights.ts';
import { adoptedLastHeight, BLOCKHASH_LIFE, MAX_HEIGHTS_AHEAD } from './judge.ts';
import { agreedBlock } from './linked-blocks.ts';

export type AdoptedLifetime = Pick<
  AttemptFacts,
  'blockhashSlot' | 'blockhashHeight' | 'lastValidBlockHeight'
> & {
  readonly adoptedFrom: string;
};

/** Number of slots to search below a given slot. More than {@link BLOCKHASH_LIFE}, because some slots have no block. */
const MIN_SEARCH_SLOTS = 192n;
const MAX_SEARCH_SLOTS = 32n * MIN_SEARCH_SLOTS;

/**
 * Wire bytes and slot of a buyer's transaction, from a node that has it in a confirmed block; null if none of a quorum of
 * nodes, asked at once, returns the transaction yet. `isFailed`: the node reports that it failed. The caller must verify
 * the signatures, because a node can return forged bytes. Throws NoHealthyNode if no node answers.
 */
export async function sentTransaction(pool: NodePool, signature: string) {
  const answers = answersIn(
    await pool.some(
      (node) => getSignedTransaction(node, signature, 'confirmed'),
      () => true,
    ),
  );
  if (answers.length === 0)
    throw new DomainError('NoHealthyNode', `no node answers whether it has the transaction ${signature}`);
  const found = answers.find(({ answer }) => answer !== null)?.answer ?? null;
  if (found === null) return null;
  const { slot, transaction, meta } = found;
  return { wire: transaction, slot, isFailed: meta !== null && meta.err !== null };
}

/** Blocks by which one node's fork can be ahead of another node's bank. More than confirmation takes. */
const FORK_MARGIN = 32n;
const ANSWERS_SHARED_MS = 30_000;
/** Shortest time between two slots of any cluster. */
const MIN_SLOT_MS = 100;

interface Bank {
  readonly slot: Slot;
  readonly height: BlockHeight;
}

/** {@link adoptedLifetime} for messages that still need our signature, with node answers cached for 30 seconds. */
export class AdoptedLifetimes {
  readonly #pool: NodePool;
  readonly #reported = new TtlCache<ReportedBanks>(ANSWERS_SHARED_MS);

  constructor(pool: NodePool) {
    this.#pool = pool;
  }

  /**
   * `acceptedAt` is the slot of a bank that accepts the blockhash. A chain never has more blocks than slots, so cached
   * heights of an earlier slot limit the height of that bank. The first block can be older than the attempt's row,
   * because our signature does not exist before the row.
   *
   * A single node supplies `acceptedAt`. Returns null if that slot is implausibly far above the banks that a quorum
   * reports: such a message would never expire.
   */
  async of(acceptedAt: Slot): Promise<AdoptedLifetime | null> {
    const { askedAt, first, banks } = await this.#reported.get('', async () => {
      const startedAt = performance.now();
      const [block, reported] = await Promise.all([firstBlock(this.#pool, null), askBanks(this.#pool)]);
      return { askedAt: startedAt, first: block, banks: reported };
    });
    const slots = banks.map(({ slot }) => slot);
    const newest = highestQuorumValue(slots, this.#pool.quorum);
    const elapsed = BigInt(Math.ceil((performance.now() - askedAt) / MIN_SLOT_MS));
    if (newest !== null && acceptedAt > newest + MAX_HEIGHTS_AHEAD + FORK_MARGIN + elapsed) return null;
    const heights = banks.map(({ slot, height }) =>
      acceptedAt > slot ? height + (acceptedAt - slot) + FORK_MARGIN : height,
    );
    return lifetimeFrom(this.#pool, first, heights);
  }
}

interface ReportedBanks {
  /** Start of the requests, on the clock of `performance.now()`. */
  readonly askedAt: number;
  readonly first: AgreedBlock;
  readonly banks: readonly Bank[];
}

async function askBanks(pool: NodePool): Promise<readonly Bank[]> {
  const answers = answersIn(await pool.all((node) => getEpochInfo(node, 'processed')));
  return answers.map(({ answer }) => ({ slot: answer.absoluteSlot, height: answer.blockHeight }));
}

/** Slot of the best node's newest bank if that bank accepts the blockhash, else null. */
export async function acceptingSlot(pool: NodePool, blockhash: string): Promise<bigint | null> {
  const { context, value } = await pool.read((node) => isBlockhashValid(node, blockhash, 'processed'));
  return value ? context.slot : null;
}

/**
 * First block and last height of a message that we did not compose. Call this function only after a node accepted the
 * blockhash, or returned the transaction in a block, at slot `acceptedAt`. `acceptedAt` is null if the message still
 * lacks a signature that only we can give, so that no finalized block can contain it yet. Throws NoHealthyNode if too
 * few nodes agree.
 * Source: docs/decisions/0020-settlements.md.
 */
export async function adoptedLifetime(pool: NodePool, acceptedAt: Slot | null): Promise<AdoptedLifetime> {
  const [first, heights] = await Promise.all([firstBlock(pool, acceptedAt), askHeights(pool, 'processed')]);
  return lifetimeFrom(
    pool,
    first,
    heights.map(({ answer }) => answer),
  );
}

function lifetimeFrom(pool: NodePool, first: AgreedBlock, heights: readonly BlockHeight[]): AdoptedLifetime {
  const lastHeight = adoptedLastHeight(heights, pool.quorum);
  if (lastHeight === null)
    throw new DomainError(
      'NoHealthyNode',
      `fewer than ${pool.quorum} nodes report a block height, or one height is more than ${MAX_HEIGHTS_AHEAD} blocks above those of a quorum`,
    );
  const { slot: blockhashSlot, height: blockhashHeight, blockhash: adoptedFrom } = first;
  return { blockhashSlot, blockhashHeight, lastValidBlockHeight: lastHeight, adoptedFrom };
}

async function firstBlock(pool: NodePool, acceptedAt: Slot | null): Promise<AgreedBlock> {
  const slots = (await progressOf(pool)).map(({ slot }) => slot);
  const finalizedSlot = highestQuorumValue(slots, pool.quorum);
  if (finalizedSlot === null) throw new DomainError('NoHealthyNode', 'too few nodes report a finalized slot');
  if (acceptedAt !== null) return blockOneLifetimeBefore(pool, lowest([acceptedAt, finalizedSlot]));
  const newest = await agreedBlock(pool, finalizedSlot);
  if (newest !== null) return newest;
  throw new DomainError('NoHealthyNode', `no quorum returns the finalized block of slot ${finalizedSlot}`);
}

/**
 * A finalized block more than {@link BLOCKHASH_LIFE} heights below the newest finalized block up to `slot`; the chain's
 * first block if there is no such block.
 */
async function blockOneLifetimeBefore(pool: NodePool, slot: Slot): Promise<AgreedBlock> {
  for (let slots = MIN_SEARCH_SLOTS; slots <= MAX_SEARCH_SLOTS; slots *= 2n) {
    const from = slot > slots ? slot - slots : 0n;
    const { first, last } = await pool.read((node) => endsOf(pool, node, from, slot));
    if (last.height - first.height > BLOCKHASH_LIFE || from === 0n) return first;
  }
  throw new DomainError(
    'NoHealthyNode',
    `no node lists more than ${BLOCKHASH_LIFE} blocks in the ${MAX_SEARCH_SLOTS} slots before slot ${slot}`,
  );
}

/** The first and the last block that `node` lists in a slot range. Throws NodeFault unless a quorum agrees on both. */
async function endsOf(pool: NodePool, node: SolanaNode, from: bigint, to: bigint) {
  const listedSlots = await getBlocksWithLimit(node, from, Number(to - from) + 1);
  const slots = listedSlots.filter((slot) => slot <= to);
  const ends = [slots[0], slots.at(-1)].flatMap((slot) => slot ?? []);
  const [first, last] = await Promise.all(ends.map((slot) => agreedBlock(pool, slot)));
  if (first && last) return { first, last };
  throw new NodeFault(
    node.name,
    `getBlocksWithLimit: no quorum agrees on the first and the last listed block from slot ${from} to ${to}`,
  );
}
