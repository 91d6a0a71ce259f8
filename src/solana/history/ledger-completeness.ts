import { ascending, highest } from '../../domain/bigint.ts';
import type { Slots } from '../../domain/slots.ts';
import { getBlock, getFirstAvailableBlock } from '../rpc/methods.ts';
import type { SolanaNode } from '../rpc/node.ts';
import type { NodePool } from '../rpc/pool.ts';
import { LOOKED_AHEAD, windowsOf } from '../scan/frontier.ts';
import { tellsOfAbsence } from '../scan/header-quorum.ts';
import { hasAllOf, type ShownLedger } from './ledger-completeness-rule.ts';

/** Which nodes have every block of some slots, by their names. */
export interface Holders {
  readonly holding: ReadonlySet<string>;
  /** Those that show nothing now: they do not answer. */
  readonly silent: ReadonlySet<string>;
}

interface Answer {
  readonly slots: Slots;
  readonly holds: Promise<boolean>;
  /** Its place among all that a node was asked. */
  readonly turn: number;
  /** What it came to, and when; null until then. */
  told: { readonly held: boolean; readonly at: number } | null;
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
  #turn = 0;

  constructor(now: () => number = () => performance.now()) {
    this.#now = now;
  }

  /**
   * Asks all nodes, and each at most once in ten minutes for slots within some of which it has shown the blocks, at most once in a minute
   * for the very slots of which it has not, counted from the end of its answer; and never again while it still answers. So long as no
   * more than 64 others are asked about meanwhile. Never throws.
   */
  holdersOf(pool: NodePool, slots: Slots): Promise<Holders> {
    return this.#holders(pool, slots, 0);
  }

  /** As {@link holdersOf}, by what nodes show from now on: one is asked again, once for all that ask while it still answers another. */
  holdersNow(pool: NodePool, slots: Slots): Promise<Holders> {
    return this.#holders(pool, slots, this.#turn);
  }

  async #holders(pool: NodePool, slots: Slots, since: number): Promise<Holders> {
    const answers = await pool.all((node) => this.#holds(node, slots, since));
    const named = (isMeant: (result: PromiseSettledResult<boolean>) => boolean) =>
      new Set(answers.flatMap(({ node, result }) => (isMeant(result) ? [node] : [])));
    return {
      holding: named((result) => result.status === 'fulfilled' && result.value),
      silent: named(({ status }) => status === 'rejected'),
    };
  }

  async #holds(node: SolanaNode, slots: Slots, since: number): Promise<boolean> {
    const known = this.#of(node).filter(({ slots: of }) => contains(of, slots));
    const running = known.find(({ told }) => told === null);
    if (running !== undefined) {
      // Who may share its answer shares its silence, too; it is asked anew by the next question.
      await (running.turn < since ? running.holds.catch(() => null) : running.holds);
      return this.#holds(node, slots, since);
    }
    const told = known.findLast((one) => one.turn >= since && this.#tellsOf(slots, one))?.told;
    return told?.held ?? this.#ask(node, slots);
  }

  /** A node that has all of some slots has all of each part of them, and lacks no more of a part than it has lost there. */
  #tellsOf(slots: Slots, { slots: of, told }: Answer): boolean {
    if (told === null) return false;
    const age = this.#now() - told.at;
    return told.held ? age <= HELD_MS : age <= LACKED_MS && contains(slots, of);
  }

  #ask(node: SolanaNode, slots: Slots): Promise<boolean> {
    const keep = (answers: readonly Answer[]) => this.#known.set(node.name, answers.slice(-ANSWERS_KEPT));
    const holds = showsAllOf(node, slots).then(
      (held) => {
        answer.told = { held, at: this.#now() };
        return held;
      },
      (error: unknown) => {
        keep(this.#of(node).filter((one) => one !== answer));
        throw error;
      },
    );
    const answer: Answer = { slots, holds, turn: this.#turn, told: null };
    this.#turn += 1;
    keep([...this.#of(node), answer]);
    return holds;
  }

  #of({ name }: SolanaNode): readonly Answer[] {
    return this.#known.get(name) ?? [];
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

/**
 * Null where it has a hole at their beginning, lists no block from their end on, or does not show one that it lists. Nothing is asked for
 * of what it has forgotten, nor behind a beginning that it does not have: a pruned node says no at once.
 */
async function shownLedger(node: SolanaNode, { from, to }: Slots): Promise<ShownLedger | null> {
  const begin = highest([from, await getFirstAvailableBlock(node)]);
  let [first, count]: [ShownLedger['first'] | null, bigint] = [null, 0n];
  for await (const window of windowsOf(node, begin, to + LOOKED_AHEAD)) {
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
