import type { BlockHeader } from '../../domain/deposit.ts';
import type { Slots } from '../../domain/scan.ts';
import { ascending, highest } from '../../domain/units.ts';
import { getBlock, getFirstAvailableBlock } from '../rpc/methods.ts';
import type { SolanaNode } from '../rpc/node.ts';
import type { NodePool } from '../rpc/pool.ts';
import { TtlCache } from '../rpc/ttl-cache.ts';
import { MAX_LOOKAHEAD_SLOTS, windowsOf } from '../scan/frontier.ts';
import { isBlockMissing } from '../scan/header-quorum.ts';

/** Names of nodes. */
export interface CompleteNodes {
  /** Nodes that have all blocks of the slots. */
  readonly complete: ReadonlySet<string>;
  /** Nodes that did not answer. */
  readonly silent: ReadonlySet<string>;
}

/** What a node lists for a range of slots. */
export interface ListedBlocks {
  /** The first listed block at or after the first slot of the range. */
  readonly first: Pick<BlockHeader, 'slot' | 'parentSlot' | 'height'>;
  /** The first listed block at or after the last slot of the range. */
  readonly last: Pick<BlockHeader, 'slot' | 'height'>;
  /** Number of listed blocks from `first` to `last`, both included. */
  readonly count: bigint;
}

/** A negative answer expires sooner, because the node may only lag. */
const COMPLETE_TTL_MS = 600_000;
const INCOMPLETE_TTL_MS = 60_000;
const MAX_CACHED_ANSWERS = 256;

/**
 * Finds the nodes that have all blocks of a range of slots. A node that was down can have a low first available block
 * and a hole after it, for which it lists no blocks. So an empty list of a node counts only if the node proves that it
 * has the whole range.
 */
export class LedgerCompleteness {
  readonly #now: () => number;
  /** Answers by node and range. Times are in milliseconds. */
  readonly #answers: TtlCache<{ hasBlocks: boolean; startedAt: number; endedAt: number }>;

  constructor(now: () => number = () => performance.now()) {
    this.#now = now;
    this.#answers = new TtlCache(COMPLETE_TTL_MS, MAX_CACHED_ANSWERS, 'answered', now);
  }

  /**
   * The nodes that have all blocks of `slots`. A node's answer is reused for ten minutes if the node has all blocks,
   * and for one minute otherwise.
   */
  completeNodes(pool: NodePool, slots: Slots): Promise<CompleteNodes> {
    return this.#askAll(pool, slots, null);
  }

  /**
   * Like {@link completeNodes}, but asks every node again. Concurrent callers share requests that start after the call.
   */
  completeNodesNow(pool: NodePool, slots: Slots): Promise<CompleteNodes> {
    return this.#askAll(pool, slots, this.#now());
  }

  async #askAll(pool: NodePool, slots: Slots, notBefore: number | null): Promise<CompleteNodes> {
    const answers = await pool.all((node) => this.#hasBlocks(node, slots, notBefore));
    const nodesWhere = (isIncluded: (result: PromiseSettledResult<boolean>) => boolean) =>
      new Set(answers.flatMap(({ node, result }) => (isIncluded(result) ? [node] : [])));
    return {
      complete: nodesWhere((result) => result.status === 'fulfilled' && result.value),
      silent: nodesWhere(({ status }) => status === 'rejected'),
    };
  }

  /** Concurrent callers share one request, including its failure. */
  async #hasBlocks(node: SolanaNode, slots: Slots, notBefore: number | null): Promise<boolean> {
    const key = `${node.name}/${slots.from}-${slots.to}`;
    for (;;) {
      const answer = this.#answers.get(key, () => this.#ask(node, slots));
      const { hasBlocks, startedAt, endedAt } = await answer;
      const isCurrent =
        notBefore === null ? hasBlocks || this.#now() - endedAt <= INCOMPLETE_TTL_MS : startedAt > notBefore;
      if (isCurrent) return hasBlocks;
      this.#answers.forget(key, answer);
    }
  }

  async #ask(node: SolanaNode, slots: Slots) {
    const startedAt = this.#now();
    return { hasBlocks: await provesAllOf(node, slots), startedAt, endedAt: this.#now() };
  }
}

/** True if the node proves that it has every block of `slots`. Throws as `SolanaNode.call` does. */
async function provesAllOf(node: SolanaNode, slots: Slots): Promise<boolean> {
  // Slot 0 is left out: its block is its own parent, so no block before it proves the start. It has no transactions.
  const slotsWithParent = slots.from > 0n ? slots : { ...slots, from: 1n };
  const blocks = await listBlocks(node, slotsWithParent);
  return blocks !== null && hasAllOf(slotsWithParent, blocks);
}

/**
 * True if the list of an honest node contains every block of the slots. The first block's parent must be before the
 * slots, and the count must match the heights of `first` and `last`. Heights grow by one per block, so a missing block
 * lowers the count, while skipped slots change nothing. If the slots have no block, `first` and `last` are equal.
 */
export function hasAllOf({ from, to }: Slots, { first, last, count }: ListedBlocks): boolean {
  if (first.slot < from || last.slot < to) return false;
  return first.parentSlot < from && count === last.height - first.height + 1n;
}

/**
 * Lists the blocks of the slots. Null if the node has a hole at either end, or does not return a listed block. The list
 * starts at the node's first available block, so that a node that has pruned the slots is rejected at once.
 */
async function listBlocks(node: SolanaNode, { from, to }: Slots): Promise<ListedBlocks | null> {
  const firstSlot = highest([from, await getFirstAvailableBlock(node)]);
  let [first, count]: [ListedBlocks['first'] | null, bigint] = [null, 0n];
  for await (const window of windowsOf(node, firstSlot, to + MAX_LOOKAHEAD_SLOTS)) {
    const slots = window.toSorted(ascending);
    const [lowest] = slots;
    if (lowest === undefined) continue;
    first ??= await linkOf(node, lowest);
    if (first === null || first.parentSlot >= from) return null;
    const lastIndex = slots.findIndex((slot) => slot >= to);
    count += BigInt(lastIndex < 0 ? slots.length : lastIndex + 1);
    const lastSlot = slots[lastIndex];
    if (lastSlot === undefined) continue;
    const last = await linkOf(node, lastSlot);
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
