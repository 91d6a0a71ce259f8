import type { AttemptVerdict, Evidence, InvestigationTimes, NonceEvidence } from '../../domain/attempt.ts';
import type { AwaitedCommitment } from '../../domain/settlement.ts';
import type { SendAnswer } from '../chain.ts';
import type { Commitment } from '../rpc/methods.ts';
import type { AnySignedAttempt } from './examine.ts';
import type { Spending } from './spending.ts';

/** A signed attempt; `raw` is the base64 wire transaction. */
export type WatchedAttempt = AnySignedAttempt & { readonly raw: string };

/** How an attempt ended, and the evidence for it. */
export interface LandingOutcome {
  readonly verdict: Extract<AttemptVerdict, { kind: 'landed' | 'failed' | 'dead' }>;
  readonly evidence: Evidence | NonceEvidence;
  readonly times: InvestigationTimes;
  readonly spending: Spending;
}

/** State of an attempt that has not ended. `held`: no verdict is possible, because of `reason`; do not sign again. */
export type AttemptProgress =
  | { readonly status: 'sending' | 'confirmed'; readonly reason: null }
  | { readonly status: 'held'; readonly reason: string };

/** Callbacks and options of a caller that waits for an attempt. A callback that fails ends the wait. */
export interface LandingHooks {
  /** Called for each change, in order. The next call waits until the returned promise has settled. */
  onProgress(progress: AttemptProgress): unknown;
  /** Called before each send. If false, the bytes are not sent, but the attempt is still judged. Default: true. */
  maySend?(): Promise<boolean>;
  /**
   * Commitment that the caller waits for. With `confirmed`, nodes are polled more often until the transaction is
   * confirmed. Default: the caller waits for the final outcome.
   */
  readonly answersAt?: AwaitedCommitment;
  readonly signal: AbortSignal;
}

/** State of one watched attempt, and the promise that its caller waits for. Calls no node. */
export class Watch {
  readonly attempt: WatchedAttempt;
  /** Settles when {@link finish} or {@link fail} is called, or the caller's signal is aborted. */
  readonly outcome: Promise<LandingOutcome>;
  /** Start of the watch, on the clock of `performance.now()`. */
  readonly startedAt = performance.now();
  /** No earlier block contains the transaction, unless it was sent before the watch. Only decides when to poll. */
  readonly fromSlot: number;
  /** Time of the last poll, on the clock of `performance.now()`; null before the first. */
  polledAt: number | null = null;
  /** Time of the last send, on the clock of `performance.now()`. */
  sentAt = 0;
  /** Nodes with an unanswered send. */
  readonly busyNodes = new Set<string>();
  /** True if a quorum has finalized blocks above the attempt's last height: the bytes can no longer land. */
  hasExpired = false;
  /**
   * Slot of a block that, as two nodes return it, includes the transaction without executing it. The transaction can
   * still execute later while its nonce is unused.
   */
  unexecutedSlot: bigint | null = null;
  /** True while a second node is asked for the finalized outcome. */
  isConfirming = false;
  /** Number of requests in which no second node returned the outcome that the first node reports. */
  unconfirmedTries = 0;
  readonly #hooks: LandingHooks;
  #commitment: Commitment | null;
  /** True if a node reports that the transaction failed in its block: the state is then not `confirmed`. */
  #hasFailed = false;
  #holdReason: string | null;
  readonly #sendAnswers = new Map<string, SendAnswer>();
  #refusal: string | null = null;
  #reported: AttemptProgress;
  #calls: Promise<unknown> = Promise.resolve();
  #isOpen = true;
  #resolve: (outcome: LandingOutcome) => void = () => undefined;
  #reject: (error: unknown) => void = () => undefined;

  constructor(attempt: WatchedAttempt, hooks: LandingHooks, start: AttemptProgress, fromSlot = 0) {
    hooks.signal.throwIfAborted();
    this.attempt = attempt;
    this.fromSlot = fromSlot;
    this.#hooks = hooks;
    this.#commitment = start.status === 'confirmed' ? 'confirmed' : null;
    this.#holdReason = start.reason;
    this.#reported = start;
    this.outcome = new Promise((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
    });
    hooks.signal.addEventListener('abort', this.#abort, { once: true });
  }

  get isOpen(): boolean {
    return this.#isOpen;
  }

  /** True if the attempt expires at a block height, so that its outcome depends on finality. */
  get isExpiring(): boolean {
    return 'lastValidBlockHeight' in this.attempt;
  }

  get isAwaited(): boolean {
    return this.#hooks.answersAt === 'confirmed' && !this.isIncluded;
  }

  get isIncluded(): boolean {
    return this.#commitment === 'confirmed' || this.#commitment === 'finalized';
  }

  async maySend(): Promise<boolean> {
    return (await this.#hooks.maySend?.()) ?? true;
  }

  get commitment(): Commitment | null {
    return this.#commitment;
  }

  /** Records a node's status. `hasFailed`: the transaction failed in its block. A change ends a hold. */
  recordStatus(commitment: Commitment | null, hasFailed: boolean): void {
    if (commitment === this.#commitment && hasFailed === this.#hasFailed) return;
    this.#commitment = commitment;
    this.#hasFailed = hasFailed;
    this.#holdReason = null;
    this.#report();
  }

  /** Holds the attempt because no verdict is possible; null ends the hold. */
  hold(reason: string | null): void {
    this.#holdReason = reason;
    this.#report();
  }

  /** Records node answers to a send. If a quorum rejects the bytes as invalid, the attempt is held; sends continue. */
  addSendAnswers(answers: readonly SendAnswer[], quorum: number): void {
    for (const answer of answers) this.#sendAnswers.set(answer.node, answer);
    const refusals = [...this.#sendAnswers.values()].filter(({ isOurFault }) => isOurFault);
    const reasons = refusals.map(({ node, error }) => `${node}: ${error}`).toSorted();
    this.#refusal =
      reasons.length < quorum
        ? null
        : `a quorum of nodes refuses the bytes of the transaction: ${reasons.join('; ')}`;
    this.#report();
  }

  finish(outcome: LandingOutcome): void {
    this.#close();
    this.#resolve(outcome);
  }

  fail(error: unknown): void {
    this.#close();
    this.#reject(error);
  }

  readonly #abort = (): void => this.fail(this.#hooks.signal.reason);

  #close(): void {
    this.#isOpen = false;
    this.#hooks.signal.removeEventListener('abort', this.#abort);
  }

  #progress(): AttemptProgress {
    if (this.#holdReason !== null) return { status: 'held', reason: this.#holdReason };
    if (!this.isIncluded && this.#refusal !== null) return { status: 'held', reason: this.#refusal };
    return { status: this.isIncluded && !this.#hasFailed ? 'confirmed' : 'sending', reason: null };
  }

  #report(): void {
    const progress = this.#progress();
    if (progress.status === this.#reported.status && progress.reason === this.#reported.reason) return;
    this.#reported = progress;
    this.#calls = this.#calls
      .then(() => (this.#isOpen ? this.#hooks.onProgress(progress) : undefined))
      .catch((error: unknown) => this.fail(error));
  }
}
