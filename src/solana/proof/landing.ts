import pLimit from 'p-limit';
import type { NodeAnswer, StatusObservation } from '../../domain/attempt.ts';
import { chunksOf } from '../../domain/chunks.ts';
import { messageOf } from '../../domain/errors.ts';
import type { Chain } from '../chain.ts';
import { isNodeError, nullIfNodesFail } from '../rpc/errors.ts';
import { outcomeEvidence, secondOutcome, unconfirmedReason } from './confirm-outcome.ts';
import { examine, type Finding, findDue, findOutcome } from './examine.ts';
import { Finality } from './heights.ts';
import { isPastLastHeight } from './judge.ts';
import { blockCache } from './linked-blocks.ts';
import { type AskOutcome, askBlockOutcome, askOutcome } from './outcomes.ts';
import { PollSchedule, type PollScheduleOptions } from './poll-schedule.ts';
import { UNKNOWN_SPENDING } from './spending.ts';
import { STATUSES_PER_CALL } from './statuses.ts';
import {
  type AttemptProgress,
  type LandingHooks,
  type LandingOutcome,
  Watch,
  type WatchedAttempt,
} from './watch.ts';

/** Intervals and limits of {@link LandingWatcher}. Verdicts do not depend on them. */
export interface LandingOptions {
  readonly pollMs?: number;
  /** Poll interval while a caller waits for `confirmed`. */
  readonly awaitedPollMs?: number;
  /** Minimum time between two sends of one attempt. */
  readonly resendMs?: number;
  /** Most attempts to send again per second, each to every node. The first send of an attempt does not count. */
  readonly resendsPerSecond?: number;
  /** Minimum time between two rounds that examine due attempts. */
  readonly examineIntervalMs?: number;
  /** Unsuccessful requests for a second node's outcome before the reporting node is distrusted. */
  readonly maxUnconfirmedTries?: number;
  /** Minimum outcomes in a slot to read them from its block: on mainnet a block is as large as hundreds of outcomes. */
  readonly minOutcomesForBlock?: number;
  /** Time without a new finalized height after which attempts are held. */
  readonly stallMs?: number;
  /** See {@link PollScheduleOptions.slots}. */
  readonly slots?: PollScheduleOptions['slots'];
}

const DEFAULTS: Required<Omit<LandingOptions, 'slots'>> = {
  pollMs: 400,
  awaitedPollMs: 150,
  resendMs: 2_000,
  resendsPerSecond: 200,
  examineIntervalMs: 4_000,
  maxUnconfirmedTries: 50,
  minOutcomesForBlock: 4,
  stallMs: 60_000,
};

interface FinalizedAttempt {
  readonly watch: Watch;
  readonly report: NodeAnswer<StatusObservation>;
}

const MAX_CONCURRENT_POLLS = 16;

const SENDING: AttemptProgress = { status: 'sending', reason: null };

/**
 * Watches all attempts of this process in one loop, with shared status calls. The bytes of an attempt are sent again
 * until a node confirms the attempt or a quorum is past its last height. An attempt past its last height, or without
 * its nonce, is examined for proof that it can no longer land. Only a judge's verdict ends a watch.
 */
export class LandingWatcher {
  readonly #chain: Chain;
  readonly #options: Required<Omit<LandingOptions, 'slots'>>;
  readonly #schedule: PollSchedule;
  readonly #watches = new Set<Watch>();
  readonly #blocks = blockCache();
  readonly #finality: Finality;
  #isRunning = false;
  #isExamining = false;
  #examinedAt = 0;
  #resendsLeft = 0;
  #resentAt = 0;

  constructor(chain: Chain, options: LandingOptions = {}) {
    this.#chain = chain;
    const { slots, ...intervals } = options;
    this.#options = { ...DEFAULTS, ...intervals };
    this.#schedule = new PollSchedule({ ...this.#options, slots });
    this.#finality = new Finality(chain.pool, this.#options.stallMs);
  }

  /**
   * Sends the attempt and follows it to its final outcome. `start` is the state that an earlier wait reported last, so
   * that only changes are reported. If `start` is `confirmed`, the bytes are sent again only after a node no longer
   * reports the transaction. Rejects with the signal's reason when aborted; the attempt itself is not affected.
   */
  async watch(
    attempt: WatchedAttempt,
    hooks: LandingHooks,
    start: AttemptProgress = SENDING,
  ): Promise<LandingOutcome> {
    const watch = new Watch(attempt, hooks, start, this.#schedule.openSlot);
    this.#watches.add(watch);
    if (!watch.isIncluded) this.#send(watch);
    this.#schedule.wake();
    void this.#run();
    return watch.outcome.finally(() => this.#watches.delete(watch));
  }

  async #run(): Promise<void> {
    if (this.#isRunning) return;
    this.#isRunning = true;
    try {
      await this.#schedule.during(() => this.#pollAll());
    } catch (error) {
      this.#isRunning = false;
      // Only a defect ends the loop. No watch can settle without the loop, so each one rejects with the error.
      for (const watch of this.#watches) watch.fail(error);
    }
  }

  async #pollAll(): Promise<void> {
    const polls = pLimit(MAX_CONCURRENT_POLLS);
    while (this.#watches.size > 0) {
      this.#resend();
      const due = await this.#schedule.untilDue(this.#watches);
      await polls.map(chunksOf(due, STATUSES_PER_CALL), (watches) => this.#poll(watches));
      void this.#examineDue();
    }
    // In the same tick as the last check of `#watches`: a watch that is added later starts the next run.
    this.#isRunning = false;
  }

  /** Within the rate limit, resends the attempts that were sent the longest time ago, so that each gets its turn. */
  #resend(): void {
    const { resendMs, resendsPerSecond } = this.#options;
    const now = performance.now();
    const refilled = this.#resendsLeft + (resendsPerSecond * (now - this.#resentAt)) / 1_000;
    this.#resendsLeft = Math.min(resendsPerSecond, refilled);
    this.#resentAt = now;
    const due = [...this.#watches]
      .filter((watch) => !watch.isIncluded && !watch.hasExpired && watch.sentAt < now - resendMs)
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

  async #sendIfAllowed(watch: Watch): Promise<void> {
    if (!(await watch.maySend())) return;
    watch.addSendAnswers(await this.#chain.send(watch.attempt.raw, watch.busyNodes), this.#chain.pool.quorum);
  }

  async #poll(watches: readonly Watch[]): Promise<void> {
    const signatures = watches.map((watch) => watch.attempt.signature);
    const answer = await this.#chain.recentStatuses(signatures).catch(nullIfNodesFail);
    if (answer === null) return;
    const finalized = new Map<bigint, FinalizedAttempt[]>();
    watches.forEach((watch, index) => {
      const observation = answer.observations[index];
      if (observation === undefined || !watch.isOpen) return;
      const status =
        observation.kind === 'seen' && observation.slot !== watch.unexecutedSlot ? observation : null;
      watch.recordStatus(status?.commitment ?? null, (status?.error ?? null) !== null);
      if (watch.commitment !== 'finalized' || status === null || watch.isConfirming) return;
      const attempt = { watch, report: { node: answer.node, sequence: 1, answer: observation } };
      finalized.set(status.slot, [...(finalized.get(status.slot) ?? []), attempt]);
    });
    for (const [slot, attempts] of finalized) this.#confirmOutcomes(slot, attempts);
    const last = [...finalized.values()].at(-1)?.at(-1);
    if (last !== undefined) this.#schedule.recordFinal(last.watch);
  }

  #confirmOutcomes(slot: bigint, attempts: readonly FinalizedAttempt[]): void {
    const signatures = attempts.map(({ watch }) => watch.attempt.signature);
    const ask =
      attempts.length < this.#options.minOutcomesForBlock ? askOutcome : askBlockOutcome(slot, signatures);
    for (const { watch, report } of attempts)
      this.#confirmOutcome(watch, report, ask).catch((error: unknown) => watch.fail(error));
  }

  /**
   * Asks a second node for the finalized outcome, one request at a time for each attempt. If no node answers, the next
   * poll asks again. After `maxUnconfirmedTries` unsuccessful requests, the attempt is held. If other nodes have
   * answered, the reporting node is also distrusted and its report discarded, so that the bytes are sent again and
   * another node is polled.
   */
  async #confirmOutcome(watch: Watch, report: NodeAnswer<StatusObservation>, ask: AskOutcome): Promise<void> {
    watch.isConfirming = true;
    const askedAt = new Date();
    const { signature } = watch.attempt;
    let othersAnswered = false;
    const askOther: AskOutcome = async (node, name) => {
      const outcome = await ask(node, name);
      othersAnswered ||= node.name !== report.node;
      return outcome;
    };
    const outcome = await secondOutcome(this.#chain, report, signature, askOther).catch(nullIfNodesFail);
    watch.isConfirming = false;
    const evidence = outcomeEvidence(this.#chain.pool.quorum, report, outcome);
    const finding = findOutcome(watch.attempt, evidence, askedAt, outcome?.spending ?? UNKNOWN_SPENDING);
    const reason = this.#settle(watch, finding);
    if (outcome !== null && finding.verdict.kind === 'alive' && evidence.outcomeConfirmedBy.length > 0) {
      watch.unexecutedSlot = outcome.slot;
      return;
    }
    watch.unconfirmedTries += 1;
    if (reason !== null) return watch.hold(reason);
    if (watch.unconfirmedTries < this.#options.maxUnconfirmedTries) return;
    const unconfirmed = unconfirmedReason(this.#chain, report, outcome);
    if (othersAnswered) this.#distrust(watch, report.node, unconfirmed);
    watch.hold(unconfirmed);
  }

  #distrust(watch: Watch, node: string, reason: string): void {
    this.#chain.pool.distrust(node, reason);
    watch.unconfirmedTries = 0;
    watch.recordStatus(null, false);
  }

  /** Examines all due attempts, except those that a node reports as finalized. */
  async #examineDue(): Promise<void> {
    const now = performance.now();
    if (
      this.#isExamining ||
      (this.#examinedAt !== 0 && now - this.#examinedAt < this.#options.examineIntervalMs)
    )
      return;
    const waiting = [...this.#watches].filter((watch) => watch.commitment !== 'finalized');
    if (!waiting.some((watch) => watch.isExpiring)) this.#finality.restart();
    if (waiting.length === 0) return;
    this.#isExamining = true;
    this.#examinedAt = now;
    const candidates = waiting.map((watch) => watch.attempt);
    let due: readonly Watch[] = [];
    try {
      const found = await findDue(this.#chain, candidates);
      due = waiting.filter((watch) => watch.isOpen && found.attempts.includes(watch.attempt));
      for (const watch of waiting)
        watch.hasExpired = isPastLastHeight(watch.attempt, found.heights, this.#chain.pool.quorum);
      const stall = this.#finality.observe(found.heights);
      for (const watch of waiting) if (!due.includes(watch)) watch.hold(watch.isExpiring ? stall : null);
      const attempts = due.map((watch) => watch.attempt);
      const findings = await examine(this.#chain, { ...found, attempts }, this.#blocks);
      for (const [index, finding] of findings.entries()) {
        const watch = due[index];
        if (watch !== undefined) watch.hold(this.#settle(watch, finding));
      }
    } catch (error) {
      // A defect before the due attempts are known concerns every attempt, since none can be proved dead.
      const concerned = isNodeError(error) || due.length > 0 ? due : waiting;
      for (const watch of concerned) watch.hold(messageOf(error));
    }
    this.#isExamining = false;
  }

  /** Ends the watch if the verdict is final. Returns why there is no verdict; null if there is one. */
  #settle(watch: Watch, { verdict, evidence, times, spending, obstacle }: Finding): string | null {
    if (verdict.kind === 'alive') return null;
    if (verdict.kind === 'unknown')
      return obstacle === null ? verdict.reason : `${verdict.reason}: ${obstacle}`;
    if (watch.isOpen) watch.finish({ verdict, evidence, times, spending });
    return null;
  }
}
