import { hasAllOf, type ShownLedger } from '../../domain/held-slots.ts';
import type { Slots } from '../../domain/slots.ts';
import { getBlock } from '../rpc/methods.ts';
import type { SolanaNode } from '../rpc/node.ts';
import type { NodePool } from '../rpc/pool.ts';
import { LOOKED_AHEAD, windowsOf } from './frontier.ts';
import { tellsOfAbsence } from './header-book.ts';

/** Which nodes have every block of some slots, by their names. */
export interface Holders {
  readonly holding: ReadonlySet<string>;
  /** Those that show nothing now: they do not answer. */
  readonly silent: ReadonlySet<string>;
}

interface Answer {
  readonly slots: Slots;
  readonly at: number;
  readonly holds: Promise<boolean>;
}

/** What a node has of final slots it keeps, until it forgets the oldest: each list asks for its first block. */
const HELD_MS = 600_000;
const LACKED_MS = 60_000;
const ANSWERS_KEPT = 64;

/**
 * Which nodes show that they have all blocks of some slots. A node that was down keeps a low first block and has a hole in the middle:
 * over the slots of that its lists are empty, and it does not know of it. So its silence counts only where it shows the chain across.
 */
export class HeldSlots {
  readonly #now: () => number;
  /** By the node's name, the newest answer last. */
  readonly #known = new Map<string, readonly Answer[]>();

  constructor(now: () => number = Date.now) {
    this.#now = now;
  }

  /**
   * Asks all nodes, and each at most once in ten minutes for slots within some of which it has shown the blocks, at most once in a minute
   * for the very slots of which it has not. So long as no more than 64 others are asked about meanwhile. Never throws.
   */
  async holdersOf(pool: NodePool, slots: Slots): Promise<Holders> {
    const answers = await pool.all((node) => this.#holds(node, slots));
    const named = (isMeant: (result: PromiseSettledResult<boolean>) => boolean) =>
      new Set(answers.flatMap(({ node, result }) => (isMeant(result) ? [node] : [])));
    return {
      holding: named((result) => result.status === 'fulfilled' && result.value),
      silent: named(({ status }) => status === 'rejected'),
    };
  }

  async #holds(node: SolanaNode, slots: Slots): Promise<boolean> {
    const known = this.#known.get(node.name) ?? [];
    for (const { slots: of, at, holds } of known.toReversed()) {
      const age = this.#now() - at;
      if (age > HELD_MS || !contains(of, slots)) continue;
      // What is silent is asked anew by the next question.
      const held = await holds.catch(() => null);
      if (held === true || (held === false && age <= LACKED_MS && contains(slots, of))) return held;
    }
    const answer = { slots, at: this.#now(), holds: showsAllOf(node, slots) };
    this.#known.set(node.name, [...known, answer].slice(-ANSWERS_KEPT));
    return answer.holds;
  }
}

function contains(outer: Slots, inner: Slots): boolean {
  return outer.from <= inner.from && outer.to >= inner.to;
}

/** True where the node shows that it has every block of these slots. Throws as `SolanaNode.call` does where it does not answer. */
export async function showsAllOf(node: SolanaNode, slots: Slots): Promise<boolean> {
  // The chain begins with slot 0, whose block names itself as its parent and holds no transaction.
  const asked = slots.from > 0n ? slots : { ...slots, from: 1n };
  const shown = await shownLedger(node, asked);
  return shown !== null && hasAllOf(asked, shown);
}

/** Null where it lists no block from the end of the slots on, or does not show one that it lists. */
async function shownLedger(node: SolanaNode, { from, to }: Slots): Promise<ShownLedger | null> {
  let [lowest, count]: [bigint | null, bigint] = [null, 0n];
  for await (const window of windowsOf(node, from, to + LOOKED_AHEAD)) {
    const listed = window.toSorted((a, b) => (a < b ? -1 : Number(a > b)));
    lowest ??= listed[0] ?? null;
    const end = listed.findIndex((slot) => slot >= to);
    count += BigInt(end < 0 ? listed.length : end + 1);
    const highest = listed[end];
    if (lowest === null || highest === undefined) continue;
    const [first, last] = await Promise.all([linkOf(node, lowest), linkOf(node, highest)]);
    return first === null || last === null ? null : { first, last, count };
  }
  return null;
}

/** Null where the node shows no such block, or not its height. */
async function linkOf(node: SolanaNode, slot: bigint) {
  const block = await getBlock(node, slot, { commitment: 'finalized', transactionDetails: 'none' }).catch(
    (error: unknown) => {
      if (tellsOfAbsence(error)) return null;
      throw error;
    },
  );
  if (block === null || block.blockHeight === null) return null;
  return { slot, parentSlot: block.parentSlot, height: block.blockHeight };
}
