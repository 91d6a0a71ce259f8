import type { BlockHeader } from '../../domain/deposit.ts';
import type { Slots } from '../../domain/scan.ts';
import { ascending, highest } from '../../domain/units.ts';
import { getBlock, getFirstAvailableBlock } from '../rpc/methods.ts';
import type { SolanaNode } from '../rpc/node.ts';
import type { NodePool } from '../rpc/pool.ts';
import { TtlCache } from '../rpc/ttl-cache.ts';
import { MAX_LOOKAHEAD_SLOTS, windowsOf } from '../scan/frontier.ts';
import { isBlockMissing } from '../scan/header-quorum.ts';

export interface Holders {
  readonly holding: ReadonlySet<string>;
  /** Nodes that do not answer now. */
  readonly silent: ReadonlySet<string>;
}

export interface ShownLedger {
  /** The first block listed from the first slot on. */
  readonly first: Pick<BlockHeader, 'slot' | 'parentSlot' | 'height'>;
  /** The first block listed from the last slot on: in that slot, or the next one. */
  readonly last: Pick<BlockHeader, 'slot' | 'height'>;
  /** Number of blocks listed from `first` to `last`, both included. */
  readonly count: bigint;
}

/** Milliseconds. A node that lacks blocks may only lag. */
const HELD_MS = 600_000;
const LACKED_MS = 60_000;
const ANSWERS_KEPT = 256;

/**
 * Finds the nodes that have all blocks of some slots. A node that was down keeps a low first block and has a hole in
 * the middle. It does not know of the hole, and lists no blocks there. So its empty lists count only if it proves
 * that it has the whole range.
 */
export class LedgerCompleteness {
  readonly #now: () => number;
  /** By node and range. */
  readonly #answers: TtlCache<{ holds: boolean; begunAt: number; endedAt: number }>;

  constructor(now: () => number = () => performance.now()) {
    this.#now = now;
    this.#answers = new TtlCache(HELD_MS, ANSWERS_KEPT, 'answered', now);
  }

  /**
   * Asks all nodes, each about one range at most once in ten minutes if it has all blocks, once a minute otherwise.
   */
  holdersOf(pool: NodePool, slots: Slots): Promise<Holders> {
    return this.#holders(pool, slots, null);
  }

  /** Like {@link holdersOf}, with new answers only. Callers that wait for a running request share the next one. */
  holdersNow(pool: NodePool, slots: Slots): Promise<Holders> {
    return this.#holders(pool, slots, this.#now());
  }

  async #holders(pool: NodePool, slots: Slots, since: number | null): Promise<Holders> {
    const answers = await pool.all((node) => this.#holds(node, slots, since));
    const named = (isMeant: (result: PromiseSettledResult<boolean>) => boolean) =>
      new Set(answers.flatMap(({ node, result }) => (isMeant(result) ? [node] : [])));
    return {
      holding: named((result) => result.status === 'fulfilled' && result.value),
      silent: named(({ status }) => status === 'rejected'),
    };
  }

  /** Concurrent callers share one request, including its failure; the next call asks again. */
  async #holds(node: SolanaNode, slots: Slots, since: number | null): Promise<boolean> {
    const key = `${node.name}/${slots.from}-${slots.to}`;
    for (;;) {
      const answer = this.#answers.get(key, () => this.#ask(node, slots));
      const { holds, begunAt, endedAt } = await answer;
      const isCurrent = since === null ? holds || this.#now() - endedAt <= LACKED_MS : begunAt > since;
      if (isCurrent) return holds;
      this.#answers.forget(key, answer);
    }
  }

  async #ask(node: SolanaNode, slots: Slots) {
    const begunAt = this.#now();
    return { holds: await showsAllOf(node, slots), begunAt, endedAt: this.#now() };
  }
}

/** True if the node proves that it has every block of these slots. Throws as `SolanaNode.call` does. */
async function showsAllOf(node: SolanaNode, slots: Slots): Promise<boolean> {
  // The chain begins with slot 0, whose block names itself as its parent and has no transaction.
  const asked = slots.from > 0n ? slots : { ...slots, from: 1n };
  const shown = await shownLedger(node, asked);
  return shown !== null && hasAllOf(asked, shown);
}

/**
 * True if an honest node has every block of these slots. The parent of its first block must be before them, and its
 * count must match the heights of first and last. Heights grow by one per block, so a lost block is missing in the
 * count, and skipped slots change neither number. If these slots have no block, first and last are equal.
 */
export function hasAllOf({ from, to }: Slots, { first, last, count }: ShownLedger): boolean {
  if (first.slot < from || last.slot < to) return false;
  return first.parentSlot < from && count === last.height - first.height + 1n;
}

/**
 * Null if the node has a hole at either end, or does not return a listed block. Lists start at the node's first
 * available block, so that a pruned node fails at once.
 */
async function shownLedger(node: SolanaNode, { from, to }: Slots): Promise<ShownLedger | null> {
  const begin = highest([from, await getFirstAvailableBlock(node)]);
  let [first, count]: [ShownLedger['first'] | null, bigint] = [null, 0n];
  for await (const window of windowsOf(node, begin, to + MAX_LOOKAHEAD_SLOTS)) {
    const listed = window.toSorted(ascending);
    const [lowest] = listed;
    if (lowest === undefined) continue;
    first ??= await linkOf(node, lowest);
    if (first === null || first.parentSlot >= from) return null;
    const end = listed.findIndex((slot) => slot >= to);
    count += BigInt(end < 0 ? listed.length : end + 1);
    const ending = listed[end];
    if (ending === undefined) continue;
    const last = await linkOf(node, ending);
    return last === null ? null : { first, last, count };
  }
  return null;
}

async function linkOf(node: SolanaNode, slot: bigint) {
  const block = await getBlock(node, slot, { commitment: 'finalized', transactionDetails: 'none' }).catch(
    (error: unknown) => {
      if (isBlockMissing(error)) return null;
      throw error;
    },
  );
  if (block === null || block.blockHeight === null) return null;
  return { slot, parentSlot: block.parentSlot, height: block.blockHeight };
}
