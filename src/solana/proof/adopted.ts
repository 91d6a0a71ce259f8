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

export type AdoptedLife = Pick<AttemptFacts, 'blockhashSlot' | 'blockhashHeight' | 'lastValidBlockHeight'> & {
  readonly adoptedFrom: string;
};

/**
 * Slots to search below a given slot: they contain more blocks than a blockhash lives, unless many slots are skipped.
 * `REACHES` limits how often the range doubles.
 */
const REACH = 192n;
const REACHES = 32n;

/**
 * The wire bytes of a buyer's transaction and its slot, from a node that has it in a confirmed block; null if no node
 * returns it yet. The caller must verify the signatures: a node can invent everything else.
 */
export async function sentTransaction(pool: NodePool, signature: string) {
  const shown = await pool.second(
    '',
    (node) => getSignedTransaction(node, signature, 'confirmed'),
    (transaction) => transaction !== null,
  );
  if (shown === null || shown.answer === null) return null;
  const { slot, transaction } = shown.answer;
  return { wire: transaction, slot };
}

/** How far one node's fork may be ahead of another's bank, in blocks: more than confirmation takes. */
const FORK_MARGIN = 32n;
const LIFE_SHARED_MS = 30_000;
/** No cluster makes slots faster. */
const SHORTEST_SLOT_MS = 100;

interface Bank {
  readonly slot: Slot;
  readonly height: BlockHeight;
}

/** {@link adoptedLife} of messages that still need our signature. Node answers are shared for 30 seconds. */
export class SharedLives {
  readonly #pool: NodePool;
  readonly #reported = new TtlCache<Reported>(LIFE_SHARED_MS);

  constructor(pool: NodePool) {
    this.#pool = pool;
  }

  /**
   * `acceptedAt` is the slot of a bank that accepts the blockhash. A chain never has more blocks than slots, so
   * answers for an earlier slot limit the height of that bank. The first block may be older than the row, because our
   * signature does not exist before the row.
   *
   * A single node supplies `acceptedAt`. Returns null if that slot is out of reach of the banks that a quorum
   * reports: the message would never expire.
   */
  async of(acceptedAt: Slot): Promise<AdoptedLife | null> {
    const { askedAt, first, banks } = await this.#reported.get('', async () => {
      const asked = performance.now();
      const [block, reported] = await Promise.all([firstBlock(this.#pool, null), askBanks(this.#pool)]);
      return { askedAt: asked, first: block, banks: reported };
    });
    const slots = banks.map(({ slot }) => slot);
    const newest = highestQuorumValue(slots, this.#pool.quorum);
    const elapsed = BigInt(Math.ceil((performance.now() - askedAt) / SHORTEST_SLOT_MS));
    if (newest !== null && acceptedAt > newest + MAX_HEIGHTS_AHEAD + FORK_MARGIN + elapsed) return null;
    const heights = banks.map(({ slot, height }) =>
      acceptedAt > slot ? height + (acceptedAt - slot) + FORK_MARGIN : height,
    );
    return lifeFrom(this.#pool, first, heights);
  }
}

/** Node answers, and when the request started, on the clock of `performance.now()`. */
interface Reported {
  readonly askedAt: number;
  readonly first: AgreedBlock;
  readonly banks: readonly Bank[];
}

async function askBanks(pool: NodePool): Promise<readonly Bank[]> {
  const answers = answersIn(await pool.all((node) => getEpochInfo(node, 'processed')));
  return answers.map(({ answer }) => ({ slot: answer.absoluteSlot, height: answer.blockHeight }));
}

/** The slot of a bank that accepts the blockhash now; null if the newest bank of the best node does not. */
export async function acceptedIn(pool: NodePool, blockhash: string): Promise<bigint | null> {
  const { context, value } = await pool.read((node) => isBlockhashValid(node, blockhash, 'processed'));
  return value ? context.slot : null;
}

/**
 * The first and the last block of a message that we did not compose. Call it only after a node accepted the blockhash
 * or returned the transaction in a block; `acceptedAt` is the slot of that. `acceptedAt` is null if a signature that
 * only we can give is missing: then no block that is final now can contain the message. Throws NoHealthyNode if too
 * few nodes agree.
 * Source: docs/decisions/0020-settlements.md.
 */
export async function adoptedLife(pool: NodePool, acceptedAt: Slot | null): Promise<AdoptedLife> {
  const [first, heights] = await Promise.all([firstBlock(pool, acceptedAt), askHeights(pool, 'processed')]);
  return lifeFrom(
    pool,
    first,
    heights.map(({ answer }) => answer),
  );
}

function lifeFrom(pool: NodePool, first: AgreedBlock, heights: readonly BlockHeight[]): AdoptedLife {
  const lastHeight = adoptedLastHeight(heights, pool.quorum);
  if (lastHeight === null)
    throw new DomainError('NoHealthyNode', 'too few nodes report block heights that are close together');
  const { slot: blockhashSlot, height: blockhashHeight, blockhash: adoptedFrom } = first;
  return { blockhashSlot, blockhashHeight, lastValidBlockHeight: lastHeight, adoptedFrom };
}

async function firstBlock(pool: NodePool, acceptedAt: Slot | null): Promise<AgreedBlock> {
  const slots = (await progressOf(pool)).map(({ slot }) => slot);
  const final = highestQuorumValue(slots, pool.quorum);
  if (final === null) throw new DomainError('NoHealthyNode', 'too few nodes report a finalized slot');
  if (acceptedAt !== null) return aLifeBelow(pool, lowest([acceptedAt, final]));
  const newest = await agreedBlock(pool, final);
  if (newest !== null) return newest;
  throw new DomainError('NoHealthyNode', `no quorum returns the finalized block of slot ${final}`);
}

/** A finalized block more than {@link BLOCKHASH_LIFE} heights below the newest up to `slot`, or the first of all. */
async function aLifeBelow(pool: NodePool, slot: Slot): Promise<AgreedBlock> {
  for (let reach = REACH; reach <= REACH * REACHES; reach *= 2n) {
    const from = slot > reach ? slot - reach : 0n;
    const { first, last } = await pool.read((node) => endsOf(pool, node, from, slot));
    if (last.height - first.height > BLOCKHASH_LIFE || from === 0n) return first;
  }
  throw new DomainError('NoHealthyNode', `too few blocks are in the slots before ${slot}`);
}

/** The first and the last finalized block in a slot range, by one node's list, both confirmed by a quorum. */
async function endsOf(pool: NodePool, node: SolanaNode, from: bigint, to: bigint) {
  const listed = await getBlocksWithLimit(node, from, Number(to - from) + 1);
  const slots = listed.filter((slot) => slot <= to);
  const ends = [slots[0], slots.at(-1)].flatMap((slot) => slot ?? []);
  const [first, last] = await Promise.all(ends.map((slot) => agreedBlock(pool, slot)));
  if (first && last) return { first, last };
  throw new NodeFault(
    node.name,
    `getBlocksWithLimit: names no blocks from ${from} to ${to} that a quorum returns`,
  );
}
