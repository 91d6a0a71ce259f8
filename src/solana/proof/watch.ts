import type { AttemptVerdict, Evidence, InvestigationTimes, NonceEvidence } from '../../domain/attempt.ts';
import type { AwaitedCommitment } from '../../domain/settlement.ts';
import type { SendAnswer } from '../chain.ts';
import type { Commitment } from '../rpc/methods.ts';
import type { AnySignedAttempt } from './examine.ts';
import type { Spending } from './spending.ts';

/** A signed attempt; `raw` is the base64 wire transaction. */
export type WatchedAttempt = AnySignedAttempt & { readonly raw: string };

/** How an attempt ended, with its proof. `spending` is what the chain charged. */
export interface LandingOutcome {
  readonly verdict: Extract<AttemptVerdict, { kind: 'landed' | 'failed' | 'dead' }>;
  readonly evidence: Evidence | NonceEvidence;
  readonly times: InvestigationTimes;
  readonly spending: Spending;
}

/** An attempt's state before its end. `held`: no verdict is possible now, because of `reason`; sign nothing. */
export type AttemptProgress =
  | { readonly status: 'sending' | 'confirmed'; readonly reason: null }
  | { readonly status: 'held'; readonly reason: string };

/** Callbacks of a waiting caller: each change, in order, one at a time. A failing hook ends the wait. */
export interface LandingHooks {
  onProgress(progress: AttemptProgress): unknown;
  /** Called before each send; if false, the attempt is only judged. Default: send. */
  maySend?(): Promise<boolean>;
  /** With `confirmed`, nodes are polled more often until then. Default: the caller waits for the end. */
  readonly answersAt?: AwaitedCommitment;
  readonly signal: AbortSignal;
}

/** One watched attempt: its statuses, the last state its caller received, and the end of the wait. Calls no node. */
export class Watch {
  readonly attempt: WatchedAttempt;
  /** Settles when {@link finish} or {@link fail} is called, or the caller's signal is aborted. */
  readonly outcome: Promise<LandingOutcome>;
  /** When the watch began, on the clock of `performance.now()`. */
  readonly since = performance.now();
  /** When the bytes were last sent, on the clock of `performance.now()`. */
  sentAt = 0;
  /** Nodes with an unanswered send. */
  readonly busy = new Set<string>();
  /** True if a quorum has finalized blocks above its last height: the bytes can no longer land. */
  expired = false;
  /** The slot in which two nodes return it as included, not executed: while its nonce is unused, it may still execute. */
  notExecutedIn: bigint | null = null;
  /** True while a second node is asked for its finalized outcome. */
  confirming = false;
  /** How often no second node returned the outcome that the first one reports. */
  unconfirmedTries = 0;
  readonly #hooks: LandingHooks;
  #seen: Commitment | null;
  /** A node reports that it failed in its block: it is not sent again, and it is not reported as confirmed. */
  #hasFailed = false;
  #holdReason: string | null;
  readonly #sendAnswers = new Map<string, SendAnswer>();
  #refusal: string | null = null;
  #reported: AttemptProgress;
  #calls: Promise<unknown> = Promise.resolve();
  #open = true;
  #resolve: (outcome: LandingOutcome) => void = () => undefined;
  #reject: (error: unknown) => void = () => undefined;

  constructor(attempt: WatchedAttempt, hooks: LandingHooks, start: AttemptProgress) {
    hooks.signal.throwIfAborted();
    this.attempt = attempt;
    this.#hooks = hooks;
    this.#seen = start.status === 'confirmed' ? 'confirmed' : null;
    this.#holdReason = start.reason;
    this.#reported = start;
    this.outcome = new Promise((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
    });
    hooks.signal.addEventListener('abort', this.#abort, { once: true });
  }

  get open(): boolean {
    return this.#open;
  }

  /** True if it lives until a block height, so that its end needs finality to advance. */
  get expires(): boolean {
    return 'lastValidBlockHeight' in this.attempt;
  }

  get isAwaited(): boolean {
    return this.#hooks.answersAt === 'confirmed' && !this.isIncluded;
  }

  get isIncluded(): boolean {
    return this.#seen === 'confirmed' || this.#seen === 'finalized';
  }

  async maySend(): Promise<boolean> {
    return (await this.#hooks.maySend?.()) ?? true;
  }

  get seen(): Commitment | null {
    return this.#seen;
  }

  /** Adds a node's status, and whether it failed there. A change clears the reason for `held`. */
  see(now: Commitment | null, hasFailed: boolean): void {
    if (now === this.#seen && hasFailed === this.#hasFailed) return;
    this.#seen = now;
    this.#hasFailed = hasFailed;
    this.#holdReason = null;
    this.#report();
  }

  /** Sets why no verdict is possible; null if the last judgement found the attempt alive. */
  hold(reason: string | null): void {
    this.#holdReason = reason;
    this.#report();
  }

  /** Adds node answers to a send. If a quorum calls the bytes invalid, the state is `held`; sends continue. */
  addSendAnswers(answers: readonly SendAnswer[], quorum: number): void {
    for (const answer of answers) this.#sendAnswers.set(answer.node, answer);
    const refusals = [...this.#sendAnswers.values()].filter(({ isOurFault }) => isOurFault);
    const reasons = refusals.map(({ node, error }) => `${node}: ${error}`).toSorted();
    this.#refusal = reasons.length < quorum ? null : `too many nodes refuse its bytes: ${reasons.join('; ')}`;
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
    this.#open = false;
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
      .then(() => (this.#open ? this.#hooks.onProgress(progress) : undefined))
      .catch((error: unknown) => this.fail(error));
  }
}
