import { setTimeout as sleep } from 'node:timers/promises';
import pLimit from 'p-limit';
import type { NodeAnswer, StatusObservation } from '../../domain/attempt.ts';
import { chunksOf } from '../../domain/chunks.ts';
import { messageOf } from '../../domain/errors.ts';
import { type BlockHeight, isAbove } from '../../domain/units.ts';
import type { Chain } from '../chain.ts';
import { outcomeEvidence, secondOutcome, unconfirmedReason } from './confirm-outcome.ts';
import { examine, type Finding, findDue, findOutcome } from './examine.ts';
import { Finality } from './heights.ts';
import { claimedHeight } from './judge.ts';
import { blockCache } from './linked-blocks.ts';
import { type AskOutcome, askBlockOutcome, askOutcome } from './outcomes.ts';
import { NOT_SHOWN } from './spending.ts';
import { STATUSES_PER_CALL } from './statuses.ts';
import {
  type AttemptProgress,
  type LandingHooks,
  type LandingOutcome,
  Watch,
  type WatchedAttempt,
} from './watch.ts';

/**
 * Intervals in milliseconds. `secondTries`: failed requests for a second node's outcome, before the reporting
 * node is distrusted. `stallMs`: how long the finalized height may stay the same. No verdict depends on them.
 */
export interface LandingOptions {
  readonly pollMs?: number;
  /** Poll interval while a caller waits for `confirmed`. */
  readonly awaitedPollMs?: number;
  readonly resendMs?: number;
  /** Attempts sent again per second, each to every node, until a node confirms them. First sends do not count. */
  readonly resendsPerSecond?: number;
  readonly heightMs?: number;
  readonly secondTries?: number;
  /** Minimum outcomes per slot to read them from the block, which on mainnet is as large as hundreds of them. */
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

interface FinalizedAttempt {
  readonly watch: Watch;
  readonly report: NodeAnswer<StatusObservation>;
}

const SLOT_MS = 400;
/** A confirmed attempt is polled less often, for this share of the time that the previous one took to be final. */
const YOUNG_POLLS = 5;
const YOUNG = 0.8;
const POLLS_AT_ONCE = 16;

const SENDING: AttemptProgress = { status: 'sending', reason: null };

/**
 * Watches every attempt of this process in one loop. One status call serves all. Attempts that are not confirmed, and
 * whose last height a quorum has not passed, are sent again with the same bytes. Attempts past their last height, or
 * without their nonce, are examined for a proof of death. Only a judge's verdict ends a watch.
 */
export class LandingWatcher {
  readonly #chain: Chain;
  readonly #options: Required<LandingOptions>;
  readonly #watches = new Set<Watch>();
  readonly #blocks = blockCache();
  readonly #finality: Finality;
  #running = false;
  #examining = false;
  #heightAt = 0;
  #polledAt = 0;
  #resendsLeft = 0;
  #resentAt = 0;
  /** How long the last finalized attempt took, from the start of its watch to the poll that reported it. */
  #finalAfterMs = 0;
  #wait = new AbortController();

  constructor(chain: Chain, options: LandingOptions = {}) {
    this.#chain = chain;
    this.#options = { ...DEFAULTS, ...options };
    this.#finality = new Finality(chain.pool, this.#options.stallMs);
  }

  /**
   * Sends the attempt and follows it to its end. `start` is the last state that an earlier wait reported, so that a
   * change from it is reported as well. If `start` is confirmed, the bytes are sent again only if a node no longer
   * reports the landing. Rejects with the signal's reason when aborted; the attempt is unchanged.
   */
  async watch(
    attempt: WatchedAttempt,
    hooks: LandingHooks,
    start: AttemptProgress = SENDING,
  ): Promise<LandingOutcome> {
    const watch = new Watch(attempt, hooks, start);
    this.#watches.add(watch);
    if (!watch.isIncluded) this.#send(watch);
    this.#wait.abort();
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
      void this.#examineDue();
    }
    this.#running = false;
  }

  async #untilDue(): Promise<void> {
    for (;;) {
      if (this.#watches.size === 0) return;
      let dueAt = Number.POSITIVE_INFINITY;
      for (const watch of this.#watches) dueAt = Math.min(dueAt, this.#dueAt(watch));
      const waitMs = dueAt - performance.now();
      if (waitMs <= 0) return;
      this.#wait = new AbortController();
      await sleep(waitMs, undefined, { signal: this.#wait.signal }).catch(() => undefined);
    }
  }

  /** When a poll may show a change: a slot after the start; finalized about as soon as the previous attempt. */
  #dueAt(watch: Watch): number {
    const { pollMs, awaitedPollMs } = this.#options;
    const soonest = watch.since + Math.min(pollMs, SLOT_MS);
    if (watch.isAwaited) return Math.max(this.#polledAt + Math.min(pollMs, awaitedPollMs), soonest);
    const isYoung = watch.isIncluded && performance.now() - watch.since < YOUNG * this.#finalAfterMs;
    return this.#polledAt + (isYoung ? YOUNG_POLLS * pollMs : pollMs);
  }

  /** Sends the attempt with the oldest send first, so that each gets its turn. */
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

  // Not awaited: a node that does not answer must not delay the others.
  #send(watch: Watch): void {
    watch.sentAt = performance.now();
    this.#sendIfAllowed(watch).catch((error: unknown) => watch.fail(error));
  }

  // Chain.send never throws.
  async #sendIfAllowed(watch: Watch): Promise<void> {
    if (!(await watch.maySend())) return;
    watch.addSendAnswers(await this.#chain.send(watch.attempt.raw, watch.busy), this.#chain.pool.quorum);
  }

  async #poll(watches: readonly Watch[]): Promise<void> {
    const signatures = watches.map((watch) => watch.attempt.signature);
    const answer = await this.#chain.recentStatuses(signatures).catch(() => null);
    if (answer === null) return;
    const finalized = new Map<bigint, FinalizedAttempt[]>();
    watches.forEach((watch, index) => {
      const observation = answer.observations[index];
      if (observation === undefined || !watch.open) return;
      const status =
        observation.kind === 'seen' && observation.slot !== watch.notExecutedIn ? observation : null;
      watch.see(status?.commitment ?? null, (status?.error ?? null) !== null);
      if (watch.seen !== 'finalized' || status === null || watch.confirming) return;
      const attempt = { watch, report: { node: answer.node, sequence: 1, answer: observation } };
      finalized.set(status.slot, [...(finalized.get(status.slot) ?? []), attempt]);
    });
    for (const [slot, attempts] of finalized) this.#confirmOutcomes(slot, attempts);
    const last = [...finalized.values()].at(-1)?.at(-1);
    if (last !== undefined) this.#finalAfterMs = performance.now() - last.watch.since;
  }

  #confirmOutcomes(slot: bigint, attempts: readonly FinalizedAttempt[]): void {
    const signatures = attempts.map(({ watch }) => watch.attempt.signature);
    const ask = attempts.length < this.#options.blockFrom ? askOutcome : askBlockOutcome(slot, signatures);
    for (const { watch, report } of attempts) void this.#confirmOutcome(watch, report, ask);
  }

  /**
   * Asks a second node for the finalized outcome, one request at a time for each attempt. A missing or failed answer
   * ends nothing: the next poll asks again. After `secondTries` of them the attempt is held with the node names. If
   * other nodes answered meanwhile, the reporting node is distrusted and its report discarded. Then the bytes are
   * sent again and another node is asked.
   */
  async #confirmOutcome(watch: Watch, report: NodeAnswer<StatusObservation>, ask: AskOutcome): Promise<void> {
    watch.confirming = true;
    const askedAt = new Date();
    const { signature } = watch.attempt;
    let othersAnswered = false;
    const askOther: AskOutcome = async (node, name) => {
      const outcome = await ask(node, name);
      othersAnswered ||= node.name !== report.node;
      return outcome;
    };
    const outcome = await secondOutcome(this.#chain, report, signature, askOther).catch(() => null);
    watch.confirming = false;
    const evidence = outcomeEvidence(this.#chain.pool.quorum, report, outcome);
    const finding = findOutcome(watch.attempt, evidence, askedAt, outcome?.spending ?? NOT_SHOWN);
    const reason = this.#settle(watch, finding);
    if (outcome !== null && finding.verdict.kind === 'alive' && evidence.outcomeConfirmedBy.length > 0) {
      watch.notExecutedIn = outcome.slot;
      return;
    }
    watch.unconfirmedTries += 1;
    if (reason !== null) return watch.hold(reason);
    if (watch.unconfirmedTries < this.#options.secondTries) return;
    const unconfirmed = unconfirmedReason(this.#chain, report, outcome);
    if (othersAnswered) this.#distrust(watch, report.node, unconfirmed);
    watch.hold(unconfirmed);
  }

  #distrust(watch: Watch, node: string, reason: string): void {
    this.#chain.pool.distrust(node, reason);
    watch.unconfirmedTries = 0;
    watch.see(null, false);
  }

  /** One round of death proofs for all due attempts that are not reported finalized. */
  async #examineDue(): Promise<void> {
    const now = performance.now();
    if (this.#examining || (this.#heightAt !== 0 && now - this.#heightAt < this.#options.heightMs)) return;
    const waiting = [...this.#watches].filter((watch) => watch.seen !== 'finalized');
    if (!waiting.some((watch) => watch.expires)) this.#finality.restart();
    if (waiting.length === 0) return;
    this.#examining = true;
    this.#heightAt = now;
    const candidates = waiting.map((watch) => watch.attempt);
    let due: readonly Watch[] = [];
    try {
      const found = await findDue(this.#chain, candidates);
      due = waiting.filter((watch) => watch.open && found.attempts.includes(watch.attempt));
      for (const watch of waiting)
        watch.expired = isPast(watch.attempt, found.heights, this.#chain.pool.quorum);
      const stall = this.#finality.observe(found.heights);
      for (const watch of waiting) if (!due.includes(watch)) watch.hold(watch.expires ? stall : null);
      const attempts = due.map((watch) => watch.attempt);
      const findings = await examine(this.#chain, { ...found, attempts }, this.#blocks);
      for (const [index, finding] of findings.entries()) {
        const watch = due[index];
        if (watch !== undefined) watch.hold(this.#settle(watch, finding));
      }
    } catch (error) {
      for (const watch of due) watch.hold(messageOf(error));
    }
    this.#examining = false;
  }

  /** Ends the watch if the verdict is final. Else returns why nothing is proved; null if the attempt is alive. */
  #settle(watch: Watch, { verdict, evidence, times, spending, obstacle }: Finding): string | null {
    if (verdict.kind === 'alive') return null;
    if (verdict.kind === 'unknown')
      return obstacle === null ? verdict.reason : `${verdict.reason}: ${obstacle}`;
    if (watch.open) watch.finish({ verdict, evidence, times, spending });
    return null;
  }
}

/** True if a quorum's finalized heights are above the attempt's claimed last height. One node alone may be wrong. */
function isPast(
  attempt: WatchedAttempt,
  heights: readonly NodeAnswer<BlockHeight>[],
  quorum: number,
): boolean {
  if (!('lastValidBlockHeight' in attempt)) return false;
  const last = claimedHeight(attempt);
  return heights.filter(({ answer }) => isAbove(answer, last)).length >= quorum;
}
