import { ascending, highest } from '../../domain/bigint.ts';
import type { Slots } from '../../domain/slots.ts';
import { getBlock, getFirstAvailableBlock } from '../rpc/methods.ts';
import type { SolanaNode } from '../rpc/node.ts';
import type { NodePool } from '../rpc/pool.ts';
import { LOOKED_AHEAD, windowsOf } from '../scan/frontier.ts';
import { tellsOfAbsence } from '../scan/header-quorum.ts';
import { hasAllOf, type ShownLedger } from './ledger-completeness-rule.ts';

export interface Holders {
  readonly holding: ReadonlySet<string>;
  /** Nodes that do not answer now. */
  readonly silent: ReadonlySet<string>;
}

interface CompletenessAnswer {
  readonly slots: Slots;
  readonly holds: Promise<boolean>;
  /** The number of earlier requests at its start. */
  readonly turn: number;
  /** The result and its time; null while the request runs. */
  told: { readonly held: boolean; readonly at: number } | null;
}

/** A node keeps finalized slots until it purges the oldest; every list checks its first block again. */
const HELD_MS = 600_000;
const LACKED_MS = 60_000;
const ANSWERS_KEPT = 64;

/**
 * Finds the nodes that have all blocks of some slots. A node that was down keeps a low first block and has a hole in
 * the middle. It does not know of the hole, and lists no blocks there. So its empty lists count only if it proves
 * that it has the whole range.
 */
export class HeldSlots {
  readonly #now: () => number;
  /** By node name, newest answer last. */
  readonly #known = new Map<string, readonly CompletenessAnswer[]>();
  #turn = 0;

  constructor(now: () => number = () => performance.now()) {
    this.#now = now;
  }

  /**
   * Asks all nodes. A node that has proved a range is asked about any part of it at most once in ten minutes. A node
   * that has not is asked about the same range at most once a minute, counted from its answer. A running request is
   * never repeated. Answers about the 64 newest ranges are kept. Never throws.
   */
  holdersOf(pool: NodePool, slots: Slots): Promise<Holders> {
    return this.#holders(pool, slots, 0);
  }

  /** Like {@link holdersOf}, with new answers only. Callers that wait for a running request share the next one. */
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
      // Concurrent callers share one request, including its failure; the next call asks again.
      await (running.turn < since ? running.holds.catch(() => null) : running.holds);
      return this.#holds(node, slots, since);
    }
    const told = known.findLast((one) => one.turn >= since && this.#tellsOf(slots, one))?.told;
    return told?.held ?? this.#ask(node, slots);
  }

  /** A node with a whole range has every part of it. A node that lacks a block also lacks it in a larger range. */
  #tellsOf(slots: Slots, { slots: of, told }: CompletenessAnswer): boolean {
    if (told === null) return false;
    const age = this.#now() - told.at;
    return told.held ? age <= HELD_MS : age <= LACKED_MS && contains(slots, of);
  }

  #ask(node: SolanaNode, slots: Slots): Promise<boolean> {
    const keep = (answers: readonly CompletenessAnswer[]) =>
      this.#known.set(node.name, answers.slice(-ANSWERS_KEPT));
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
    const answer: CompletenessAnswer = { slots, holds, turn: this.#turn, told: null };
    this.#turn += 1;
    keep([...this.#of(node), answer]);
    return holds;
  }

  #of({ name }: SolanaNode): readonly CompletenessAnswer[] {
    return this.#known.get(name) ?? [];
  }
}

function contains(outer: Slots, inner: Slots): boolean {
  return outer.from <= inner.from && outer.to >= inner.to;
}

/** True if the node proves that it has every block of these slots. Throws as `SolanaNode.call` does. */
export async function showsAllOf(node: SolanaNode, slots: Slots): Promise<boolean> {
  // The chain begins with slot 0, whose block names itself as its parent and has no transaction.
  const asked = slots.from > 0n ? slots : { ...slots, from: 1n };
  const shown = await shownLedger(node, asked);
  return shown !== null && hasAllOf(asked, shown);
}

/**
 * Null if the node has a hole at either end, or does not return a listed block. Lists start at the node's first
 * available block, so that a pruned node fails at once.
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
