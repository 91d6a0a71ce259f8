import { setTimeout as sleep } from 'node:timers/promises';
import pLimit from 'p-limit';
import type { NodeTestimony, Sighting } from '../../domain/attempt.ts';
import { chunksOf } from '../../domain/chunks.ts';
import { messageOf } from '../../domain/errors.ts';
import type { Chain } from '../chain.ts';
import { outcomeEvidence, secondOutcome, unsecondedReason } from './confirm-outcome.ts';
import { examine, type Finding, findDue, findOutcome } from './examine.ts';
import { Finality } from './finality.ts';
import { claimedHeight } from './judge.ts';
import { blockCache } from './linked-blocks.ts';
import { type AskOutcome, askBlockOutcome, askOutcome } from './outcomes.ts';
import { NOT_SHOWN } from './spending.ts';
import { STATUSES_PER_CALL } from './statuses.ts';
import { type LandingHooks, type LandingOutcome, type Outlook, Watch, type WatchedAttempt } from './watch.ts';

/**
 * Rhythms in milliseconds, after how many tries a node whose report no second node shows is distrusted, and after how long a finalized height
 * that does not rise. No verdict depends on them.
 */
export interface LandingOptions {
  readonly pollMs?: number;
  /** While a caller waits for `confirmed`, once it may be. */
  readonly awaitedPollMs?: number;
  readonly resendMs?: number;
  /** Attempts that are sent again in one second, each to every node, while nodes confirm none of them. The first sending is not counted. */
  readonly resendsPerSecond?: number;
  readonly heightMs?: number;
  readonly secondTries?: number;
  /** So many that a poll sees finalized in one slot are read from its block: on mainnet that is as long as hundreds of transactions. */
  readonly blockFrom?: number;
  readonly stallMs?: number;
}

const DEFAULTS: Required<LandingOptions> = {
  pollMs: 400,
  awaitedPollMs: 150,
  resendMs: 2_000,
  resendsPerSecond: 200,
  heightMs: 4_000,
  secondTries: 50,
  blockFrom: 4,
  stallMs: 60_000,
};

/** An attempt that a node reports finalized. */
interface Ending {
  readonly watch: Watch;
  readonly witness: NodeTestimony<Sighting>;
}

const SLOT_MS = 400;
/** What is confirmed is looked at once in so many polls for this part of the time that the one before it took to be final. */
const YOUNG_POLLS = 5;
const YOUNG = 0.8;
const POLLS_AT_ONCE = 16;

const SENDING: Outlook = { status: 'sending', reason: null };

/**
 * Watches every attempt of this process in one loop: one status question for all, one rebroadcast of the same bytes
 * for those not yet confirmed whose last height a quorum has not passed, and past their last height, or without their nonce, the search
 * for proofs of death. Only a judge's verdict ends a watch.
 */
export class LandingWatcher {
  readonly #chain: Chain;
  readonly #options: Required<LandingOptions>;
  readonly #watches = new Set<Watch>();
  readonly #blocks = blockCache();
  readonly #finality: Finality;
  #running = false;
  #burying = false;
  #heightAt = 0;
  #polledAt = 0;
  /** What is left of the budget of `resendsPerSecond`, and since when it grows. */
  #resendsLeft = 0;
  #resentAt = 0;
  /** From the sending of the last one that ended to the poll that saw it finalized. */
  #finalAfterMs = 0;
  #nap = new AbortController();

  constructor(chain: Chain, options: LandingOptions = {}) {
    this.#chain = chain;
    this.#options = { ...DEFAULTS, ...options };
    this.#finality = new Finality(chain.pool, this.#options.stallMs);
  }

  /**
   * Sends the attempt and follows it to its end. `start` is what an earlier wait for it said last, so that what it said and no
   * longer holds is told too; what was confirmed then is sent again only where a node no longer shows it. Rejects with the signal's
   * reason when aborted; the attempt stays as it is.
   */
  async watch(
    attempt: WatchedAttempt,
    hooks: LandingHooks,
    start: Outlook = SENDING,
  ): Promise<LandingOutcome> {
    const watch = new Watch(attempt, hooks, start);
    this.#watches.add(watch);
    if (!watch.isIncluded) this.#send(watch);
    this.#nap.abort();
    void this.#run();
    return watch.outcome.finally(() => this.#watches.delete(watch));
  }

  async #run(): Promise<void> {
    if (this.#running) return;
    this.#running = true;
    const polls = pLimit(POLLS_AT_ONCE);
    this.#polledAt = performance.now();
    while (this.#watches.size > 0) {
      this.#resend();
      await this.#untilDue();
      this.#polledAt = performance.now();
      await polls.map(chunksOf([...this.#watches], STATUSES_PER_CALL), (watches) => this.#poll(watches));
      void this.#bury();
    }
    this.#running = false;
  }

  /** Sleeps until the next poll; what begins to be watched may bring that forward. */
  async #untilDue(): Promise<void> {
    for (;;) {
      if (this.#watches.size === 0) return;
      let dueAt = Number.POSITIVE_INFINITY;
      for (const watch of this.#watches) dueAt = Math.min(dueAt, this.#dueAt(watch));
      const rest = dueAt - performance.now();
      if (rest <= 0) return;
      this.#nap = new AbortController();
      await sleep(rest, undefined, { signal: this.#nap.signal }).catch(() => undefined);
    }
  }

  /** When a look at this one may tell something new: it is not confirmed within a slot, and final about as soon as the one before it. */
  #dueAt(watch: Watch): number {
    const { pollMs, awaitedPollMs } = this.#options;
    const soonest = watch.since + Math.min(pollMs, SLOT_MS);
    if (watch.isAwaited) return Math.max(this.#polledAt + Math.min(pollMs, awaitedPollMs), soonest);
    const isYoung = watch.isIncluded && performance.now() - watch.since < YOUNG * this.#finalAfterMs;
    return this.#polledAt + (isYoung ? YOUNG_POLLS * pollMs : pollMs);
  }

  /** The attempt that was sent the longest time ago comes first, so that each gets its turn. */
  #resend(): void {
    const { resendMs, resendsPerSecond } = this.#options;
    const now = performance.now();
    const grown = this.#resendsLeft + (resendsPerSecond * (now - this.#resentAt)) / 1_000;
    this.#resendsLeft = Math.min(resendsPerSecond, grown);
    this.#resentAt = now;
    const due = [...this.#watches]
      .filter((watch) => !watch.isIncluded && !watch.expired && watch.sentAt < now - resendMs)
      .toSorted((one, other) => one.sentAt - other.sentAt)
      .slice(0, Math.floor(this.#resendsLeft));
    this.#resendsLeft -= due.length;
    for (const watch of due) this.#send(watch);
  }

  // Not awaited: a node that does not answer must not hold up the others.
  #send(watch: Watch): void {
    watch.sentAt = performance.now();
    void this.#sendWhereWanted(watch);
  }

  // Chain.send never throws.
  async #sendWhereWanted(watch: Watch): Promise<void> {
    if (!(await watch.maySend())) return;
    watch.answered(await this.#chain.send(watch.attempt.raw, watch.busy), this.#chain.pool.quorum);
  }

  async #poll(watches: readonly Watch[]): Promise<void> {
    const signatures = watches.map((watch) => watch.attempt.signature);
    const answer = await this.#chain.recentStatuses(signatures).catch(() => null);
    if (answer === null) return;
    const ended = new Map<bigint, Ending[]>();
    watches.forEach((watch, index) => {
      const sighting = answer.sightings[index];
      if (sighting === undefined || !watch.open) return;
      const run = sighting.kind === 'seen' && sighting.slot !== watch.inertIn ? sighting : null;
      watch.see(run?.commitment ?? null, (run?.error ?? null) !== null);
      if (watch.seen !== 'finalized' || run === null || watch.concluding) return;
      const ending = { watch, witness: { node: answer.node, sequence: 1, answer: sighting } };
      ended.set(run.slot, [...(ended.get(run.slot) ?? []), ending]);
    });
    for (const [slot, endings] of ended) this.#concludeAll(slot, endings);
    const last = [...ended.values()].at(-1)?.at(-1);
    if (last !== undefined) this.#finalAfterMs = performance.now() - last.watch.since;
  }

  /** The outcomes of many in one slot are read from its block. */
  #concludeAll(slot: bigint, endings: readonly Ending[]): void {
    const signatures = endings.map(({ watch }) => watch.attempt.signature);
    const ask = endings.length < this.#options.blockFrom ? askOutcome : askBlockOutcome(slot, signatures);
    for (const { watch, witness } of endings) void this.#conclude(watch, witness, ask);
  }

  /**
   * Asks a second node for the finalized outcome, one question at a time for each attempt. No answer, or a fault, ends nothing:
   * the next poll asks again. After `secondTries` of them the attempt is held with the nodes named. Where other nodes answered meanwhile, the
   * one that reported it is distrusted and its report forgotten, so that the bytes are sent again and another node is asked.
   */
  async #conclude(watch: Watch, witness: NodeTestimony<Sighting>, ask: AskOutcome): Promise<void> {
    watch.concluding = true;
    const askedAt = new Date();
    const { signature } = watch.attempt;
    let isDenied = false;
    const askOther: AskOutcome = async (node, name) => {
      const shown = await ask(node, name);
      isDenied ||= node.name !== witness.node;
      return shown;
    };
    const outcome = await secondOutcome(this.#chain, witness, signature, askOther).catch(() => null);
    watch.concluding = false;
    const evidence = outcomeEvidence(this.#chain.pool.quorum, witness, outcome);
    const finding = findOutcome(watch.attempt, evidence, askedAt, outcome?.spending ?? NOT_SHOWN);
    const reason = this.#settle(watch, finding);
    if (outcome !== null && finding.verdict.kind === 'alive' && evidence.outcomeConfirmedBy.length > 0) {
      watch.inertIn = outcome.slot;
      return;
    }
    watch.unseconded += 1;
    if (reason !== null) return watch.doubt(reason);
    if (watch.unseconded < this.#options.secondTries) return;
    const alone = unsecondedReason(this.#chain, witness, outcome);
    if (isDenied) this.#distrust(watch, witness.node, alone);
    watch.doubt(alone);
  }

  #distrust(watch: Watch, node: string, reason: string): void {
    this.#chain.pool.distrust(node, reason);
    watch.unseconded = 0;
    watch.see(null, false);
  }

  /** One round of proofs for all attempts that can hardly land any more and are not known to be finalized. */
  async #bury(): Promise<void> {
    const now = performance.now();
    if (this.#burying || (this.#heightAt !== 0 && now - this.#heightAt < this.#options.heightMs)) return;
    const waiting = [...this.#watches].filter((watch) => watch.seen !== 'finalized');
    if (!waiting.some((watch) => watch.expires)) this.#finality.forget();
    if (waiting.length === 0) return;
    this.#burying = true;
    this.#heightAt = now;
    const candidates = waiting.map((watch) => watch.attempt);
    let dying: readonly Watch[] = [];
    try {
      const found = await findDue(this.#chain, candidates);
      dying = waiting.filter((watch) => watch.open && found.attempts.includes(watch.attempt));
      for (const watch of waiting)
        watch.expired = isPast(watch.attempt, found.heights, this.#chain.pool.quorum);
      const stall = this.#finality.hear(found.heights);
      for (const watch of waiting) if (!dying.includes(watch)) watch.doubt(watch.expires ? stall : null);
      const attempts = dying.map((watch) => watch.attempt);
      const findings = await examine(this.#chain, { ...found, attempts }, this.#blocks);
      for (const [index, finding] of findings.entries()) {
        const watch = dying[index];
        if (watch !== undefined) watch.doubt(this.#settle(watch, finding));
      }
    } catch (error) {
      for (const watch of dying) watch.doubt(messageOf(error));
    }
    this.#burying = false;
  }

  /** Ends the watch where the evidence is enough; else answers why nothing can be told, or null where the attempt is alive. */
  #settle(watch: Watch, { verdict, evidence, times, spending, obstacle }: Finding): string | null {
    if (verdict.kind === 'alive') return null;
    if (verdict.kind === 'unknown')
      return obstacle === null ? verdict.reason : `${verdict.reason}: ${obstacle}`;
    if (watch.open) watch.finish({ verdict, evidence, times, spending });
    return null;
  }
}

/** True where a quorum has finalized more than the last height that the attempt claims. One node alone may be wrong. */
function isPast(attempt: WatchedAttempt, heights: readonly NodeTestimony<bigint>[], quorum: number): boolean {
  if (!('lastValidBlockHeight' in attempt)) return false;
  const last = claimedHeight(attempt);
  return heights.filter(({ answer }) => answer > last).length >= quorum;
}
