import { Context, cancellationSignal, sleep } from '@temporalio/activity';
import type { Alarm } from '../domain/alerts.ts';
import { type DomainError, isDomainError } from '../domain/errors.ts';
import { type AwaitedCommitment, isPaidByDead } from '../domain/settlement.ts';
import { LANDING_REPORT, type Landing, type LandingReport, type SignedStep } from '../domain/steps.ts';
import { TIMEOUTS } from '../domain/timeouts.ts';
import type { Ledger } from '../ledger/ledger.ts';
import type { AttemptRow } from '../ledger/settlements/attempts.ts';
import { createJudge, failureOf, type JudgeDeps, settle } from './record-verdict.ts';
import { signedAttempt } from './signatures.ts';
import { notYet } from './state.ts';

export interface LandingDeps extends JudgeDeps {
  /** Milliseconds between two checks of a settlement that only an operator can end. Default 15,000. */
  readonly restMs?: number;
}

/** Stores the signed bytes, resends them until the chain has a verdict, then stores the verdict. */
export function createLanding(deps: LandingDeps) {
  const { ledger, restMs = TIMEOUTS.operatorLookMs } = deps;
  const judge = createJudge(deps);

  async function untilSettled(signed: AttemptRow, reporter: LandingReporter): Promise<AttemptRow> {
    const { settlementId, n } = signed;
    // Read again in each round: the wallet's history may show that the attempt landed under another
    // signature.
    for (let attempt = signed; ; attempt = await ledger.attempts.get(settlementId, n)) {
      const judgement = await judge(attempt, reporter, cancellationSignal());
      if (judgement !== null) return settle(deps, attempt, judgement);
      await sleep(restMs);
    }
  }

  async function land(id: string, n: number, signature: string, reporter: LandingReporter): Promise<Landing> {
    const attempt = await signedAttempt(ledger, id, n, signature);
    const ended = attempt.state === 'signed' ? await untilSettled(attempt, reporter) : attempt;
    return untilOperatorsDecide(ledger, ended, reporter, restMs);
  }

  return {
    /**
     * Returns when the attempt is finalized, failed on chain or proved dead, after that is stored. If a dead
     * attempt turns out to have paid, nothing more is stored or sent. Then it returns only for a composed
     * attempt that ended without a payment; an operator ends every other case.
     */
    async landAttempt(input: SignedStep): Promise<Landing> {
      const { id, n, signature } = input;
      const reporter = new LandingReporter(n, signature);
      try {
        return await unlessLost(ledger, input, land(id, n, signature, reporter));
      } finally {
        reporter.stop();
      }
    },
  };
}

/** Waits until the run may continue: after a payment by a dead attempt, only if this attempt can never pay. */
async function untilOperatorsDecide(
  ledger: Ledger,
  ended: AttemptRow,
  reporter: LandingReporter,
  restMs: number,
): Promise<Landing> {
  for (let attempt = ended; ; attempt = await ledger.attempts.get(attempt.settlementId, attempt.n)) {
    if (attempt.state === 'dead') return landingOf(attempt, false);
    const row = await ledger.settlements.get(attempt.settlementId);
    const isComposedAnew = attempt.state === 'failed' && attempt.adoptedFrom === null;
    if (!isPaidByDead(row) || isComposedAnew) return landingOf(attempt, row.status !== 'failed');
    reporter.show({ n: attempt.n, status: row.status, reason: row.reason });
    await sleep(restMs);
  }
}

/** Result of a settled attempt for the workflow. `goesOn`: the settlement did not end with this failure. */
function landingOf(attempt: AttemptRow, goesOn: boolean): Landing {
  const { signature, state, adoptedFrom } = attempt;
  if (state === 'dead' || signature === null)
    return { kind: 'dead', signature, ...(adoptedFrom === null ? {} : { ends: true }) };
  const slot = (attempt.slot ?? 0n).toString();
  if (state === 'landed') return { kind: 'finalized', signature, slot };
  const reason = failureOf(attempt, attempt.error);
  return { kind: 'failed', signature, slot, reason, ...(goesOn ? { goesOn: true } : {}) };
}

/**
 * Handles a run whose signed attempt is missing from the database, because PostgreSQL was restored from an older
 * backup. Pauses all payments and makes the run wait for the row; it never composes again. Rethrows every other error.
 */
export async function unlessLost<T>(ledger: Ledger, remembered: SignedStep, work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (error) {
    // Another row of the kind may be missing instead.
    if (!isDomainError(error, 'NotFound') || error.context['settlementId'] !== remembered.id) throw error;
    const alarm = lostAlarm(remembered, error);
    // Raised once per database: after an operator resumes payments, this settlement alone stays stopped.
    const raised = await ledger.alerts.subjectsEverRaised(alarm.kind, [remembered.id]);
    if (!raised.has(remembered.id)) await ledger.pauses.pauseWithAlert(alarm, remembered.id);
    throw notYet(alarm.kind, alarm.message, TIMEOUTS.operatorLookMs);
  }
}

function lostAlarm({ id, n, signature }: SignedStep, { message }: DomainError): Alarm {
  return {
    kind: 'record_lost',
    subject: id,
    message: `the workflow has signed attempt ${n} as ${signature}, but ${message}: the database was restored from an older backup`,
    details: { n, signature },
  };
}

export function createAnswering(deps: JudgeDeps) {
  const { ledger } = deps;
  const judge = createJudge(deps);

  /**
   * Stores the signature and sends the attempt. Returns once a node shows it confirmed, it has ended, or
   * `withinMs` have passed; the database has the result.
   */
  return async function answerSoon(
    id: string,
    n: number,
    signature: string,
    withinMs: number,
  ): Promise<void> {
    const attempt = await signedAttempt(ledger, id, n, signature);
    if (attempt.state !== 'signed') return;
    const over = new AbortController();
    const timer = setTimeout(() => over.abort(), withinMs);
    const show = ({ status }: LandingReport) => void (status === 'confirmed' && over.abort());
    const signal = AbortSignal.any([over.signal, cancellationSignal()]);
    try {
      const judgement = await judge(attempt, { begin: show, show }, signal);
      if (judgement !== null) await settle(deps, attempt, judgement);
    } catch (error) {
      if (!over.signal.aborted) throw error;
    } finally {
      clearTimeout(timer);
    }
  };
}

type Status = LandingReport['status'];

/** Heartbeat details: the report, and the status that the workflow has, for the next try of the activity. */
interface Beat extends LandingReport {
  readonly signature: string;
  readonly runShows: Status;
}

/**
 * Reports the wait for a landing: each change in the heartbeat, and held or no longer held by a signal to the
 * workflow. A failed signal is sent again with a later heartbeat. Construct it inside the waiting activity.
 */
export class LandingReporter {
  readonly #context = Context.current();
  readonly #signature: string;
  readonly #timer: NodeJS.Timeout;
  /** Callers of this kind wait for `confirmed`, so that status is signalled too. */
  #answersAtConfirmed = false;
  #report: LandingReport;
  #runShows: Status;
  #signalledAt = Number.NEGATIVE_INFINITY;
  /** Status of the last signal, delivered or not. */
  #signalled: Status | null = null;

  constructor(n: number, signature: string) {
    this.#signature = signature;
    this.#report = { n, status: 'sending', reason: null };
    const last = this.#context.info.heartbeatDetails as Partial<Beat> | undefined;
    this.#runShows = last?.runShows ?? 'sending';
    this.#timer = setInterval(() => this.#beat(), TIMEOUTS.heartbeatEveryMs);
  }

  /**
   * Sets the stored status when the wait begins. If callers wait for `confirmed`, the workflow knew it before
   * the first try. Later tries know only what the last heartbeat contains.
   */
  begin(report: LandingReport, answersAt: AwaitedCommitment): void {
    this.#answersAtConfirmed = answersAt === 'confirmed';
    const isFirst = this.#context.info.attempt === 1;
    if (this.#answersAtConfirmed && isFirst && report.status === 'confirmed') this.#runShows = 'confirmed';
    this.show(report);
  }

  show(report: LandingReport): void {
    this.#report = report;
    this.#keepRunInformed();
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  #beat(): void {
    this.#keepRunInformed();
    const beat: Beat = { ...this.#report, signature: this.#signature, runShows: this.#runShows };
    this.#context.heartbeat(beat);
  }

  #keepRunInformed(): void {
    const { status } = this.#report;
    const shown = status === 'confirmed' && !this.#answersAtConfirmed ? 'sending' : status;
    // Callers wait for `confirmed`, so its signal skips the pause between two signals.
    const isAwaited = shown === 'confirmed' && this.#signalled !== shown;
    const isDue = isAwaited || performance.now() - this.#signalledAt >= TIMEOUTS.landingSignalMs;
    if (shown !== this.#runShows && isDue) void this.#signal(shown);
  }

  async #signal(shown: Status): Promise<void> {
    this.#signalledAt = performance.now();
    this.#signalled = shown;
    const { client, info, log } = this.#context;
    try {
      const { workflowId = '', runId = '' } = info.workflowExecution ?? {};
      await client.workflow.getHandle(workflowId, runId).signal(LANDING_REPORT, this.#report);
      this.#runShows = shown;
    } catch (error) {
      log.warn('the signal about the progress of a landing did not reach the run', { error });
    }
  }
}
