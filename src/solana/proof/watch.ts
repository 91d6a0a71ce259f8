import type { Evidence, InvestigationTimes, NonceEvidence, Verdict } from '../../domain/attempt.ts';
import type { SendAnswer } from '../chain.ts';
import type { AnySignedAttempt } from './examine.ts';
import type { Spending } from './spending.ts';

/** A signed attempt to keep on its way: `raw` is the base64 wire transaction. */
export type WatchedAttempt = AnySignedAttempt & { readonly raw: string };

/** How an attempt ended, and what proves it. `spending` is what the chain charged. */
export interface LandingOutcome {
  readonly verdict: Extract<Verdict, { kind: 'landed' | 'failed' | 'dead' }>;
  readonly evidence: Evidence | NonceEvidence;
  readonly times: InvestigationTimes;
  readonly spending: Spending;
}

/** How an attempt looks before it has ended. `held`: nothing can be told of it now, for the reason in `reason`; nothing may be signed. */
export type Outlook =
  | { readonly status: 'sending' | 'confirmed'; readonly reason: null }
  | { readonly status: 'held'; readonly reason: string };

/** What a caller hears while it waits: each change, in order, one at a time. A hook that fails ends the wait with its error. */
export interface LandingHooks {
  onOutlook(outlook: Outlook): unknown;
  /** Asked before each sending; false: it is only judged. Must not reject. Default: it is sent. */
  maySend?(): Promise<boolean>;
  /** The caller waits for `confirmed`: until then nodes are asked more often. Default: it waits for the end. */
  readonly answersAt?: 'confirmed' | 'finalized';
  readonly signal: AbortSignal;
}

export type SeenAt = 'processed' | 'confirmed' | 'finalized' | null;

/** One attempt being watched: what the nodes say of it, what its caller was told, and how the wait ends. Asks nothing itself. */
export class Watch {
  readonly attempt: WatchedAttempt;
  /** Settles when {@link finish} or {@link fail} is called, or the caller's signal is aborted. */
  readonly outcome: Promise<LandingOutcome>;
  /** When it began to be watched, on the clock of `performance.now()`. */
  readonly since = performance.now();
  /** When the bytes were last sent, on the clock of `performance.now()`. */
  sentAt = 0;
  /** The nodes that have been handed the bytes and have not answered yet. */
  readonly busy = new Set<string>();
  /** True where a quorum has finalized more than its last height: its bytes have nowhere to land. */
  expired = false;
  /** The slot of a block that only includes it, as two nodes show: with a nonce that stands it may still run. */
  inertIn: bigint | null = null;
  /** A second node is being asked for the outcome. */
  concluding = false;
  /** How often no second node has shown the outcome that the first reports. */
  unseconded = 0;
  readonly #hooks: LandingHooks;
  #seen: SeenAt;
  /** A node says that it failed in the block that includes it: it is not sent again, and nobody is told that it is confirmed. */
  #hasFailed = false;
  #doubt: string | null;
  /** The last answer of each node to a send. */
  readonly #answers = new Map<string, SendAnswer>();
  #refusal: string | null = null;
  #told: Outlook;
  #words: Promise<unknown> = Promise.resolve();
  #open = true;
  #resolve: (outcome: LandingOutcome) => void = () => undefined;
  #reject: (error: unknown) => void = () => undefined;

  constructor(attempt: WatchedAttempt, hooks: LandingHooks, start: Outlook) {
    hooks.signal.throwIfAborted();
    this.attempt = attempt;
    this.#hooks = hooks;
    this.#seen = start.status === 'confirmed' ? 'confirmed' : null;
    this.#doubt = start.reason;
    this.#told = start;
    this.outcome = new Promise((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
    });
    hooks.signal.addEventListener('abort', this.#abort, { once: true });
  }

  get open(): boolean {
    return this.#open;
  }

  /** True where it lives until a height, so that it needs the finalized chain to grow. */
  get expires(): boolean {
    return 'lastValidBlockHeight' in this.attempt;
  }

  /** True while somebody waits to hear that it is confirmed. */
  get isAwaited(): boolean {
    return this.#hooks.answersAt === 'confirmed' && !this.isIncluded;
  }

  /** True where a node shows it in a confirmed block. */
  get isIncluded(): boolean {
    return this.#seen === 'confirmed' || this.#seen === 'finalized';
  }

  /** Whether its bytes may be handed to the nodes now. */
  async maySend(): Promise<boolean> {
    return (await this.#hooks.maySend?.()) ?? true;
  }

  get seen(): SeenAt {
    return this.#seen;
  }

  /** What a node sees now, and whether it failed there. A change takes a doubt back until the next judgement. */
  see(now: SeenAt, hasFailed: boolean): void {
    if (now === this.#seen && hasFailed === this.#hasFailed) return;
    this.#seen = now;
    this.#hasFailed = hasFailed;
    this.#doubt = null;
    this.#tell();
  }

  /** Why nothing can be told; null where the last judgement found the attempt alive. */
  doubt(reason: string | null): void {
    this.#doubt = reason;
    this.#tell();
  }

  /** What nodes said to the last send. That a quorum calls the bytes wrong is told, and changes nothing else: they are sent on. */
  answered(answers: readonly SendAnswer[], quorum: number): void {
    for (const answer of answers) this.#answers.set(answer.node, answer);
    const refusals = [...this.#answers.values()].filter(({ isOurFault }) => isOurFault);
    const words = refusals.map(({ node, error }) => `${node}: ${error}`).toSorted();
    this.#refusal = words.length < quorum ? null : `too many nodes refuse its bytes: ${words.join('; ')}`;
    this.#tell();
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

  #outlook(): Outlook {
    if (this.#doubt !== null) return { status: 'held', reason: this.#doubt };
    if (!this.isIncluded && this.#refusal !== null) return { status: 'held', reason: this.#refusal };
    return { status: this.isIncluded && !this.#hasFailed ? 'confirmed' : 'sending', reason: null };
  }

  #tell(): void {
    const outlook = this.#outlook();
    if (outlook.status === this.#told.status && outlook.reason === this.#told.reason) return;
    this.#told = outlook;
    this.#words = this.#words
      .then(() => (this.#open ? this.#hooks.onOutlook(outlook) : undefined))
      .catch((error: unknown) => this.fail(error));
  }
}
