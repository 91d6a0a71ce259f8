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
import { retryLater } from './state.ts';

export interface LandingDeps extends JudgeDeps {
  /** Time between two checks of a settlement that only an operator can end. Default: 15,000 ms. */
  readonly recheckMs?: number;
}

/** Stores the signed bytes, resends them until the chain has a verdict, then stores the verdict. */
export function createLanding(deps: LandingDeps) {
  const { ledger, recheckMs = TIMEOUTS.operatorLookMs } = deps;
  const judge = createJudge(deps);

  async function untilSettled(signed: AttemptRow, reporter: LandingReporter): Promise<AttemptRow> {
    const { settlementId, n } = signed;
    // Read the row again in each round: the watch of the wallet may have stored another signature under which the
    // attempt landed.
    for (let attempt = signed; ; attempt = await ledger.attempts.get(settlementId, n)) {
      const judgement = await judge(attempt, reporter, cancellationSignal());
      if (judgement !== null) return settle(deps, attempt, judgement);
      await sleep(recheckMs);
    }
  }

  async function land(id: string, n: number, signature: string, reporter: LandingReporter): Promise<Landing> {
    const attempt = await signedAttempt(ledger, id, n, signature);
    const ended = attempt.state === 'signed' ? await untilSettled(attempt, reporter) : attempt;
    return untilOperatorsDecide(ledger, ended, reporter, recheckMs);
  }

  return {
    /**
     * Waits until the attempt is finalized, failed on chain or proved dead, and stores that. If a dead attempt turns
     * out to have paid, nothing more is stored or sent. The call then returns only if a message of our own ended
     * without a payment; in every other case it waits for an operator.
     */
    async landAttempt(input: SignedStep): Promise<Landing> {
      const { id, n, signature } = input;
      const reporter = new LandingReporter(n, signature);
      try {
        return await waitIfRowLost(ledger, input, land(id, n, signature, reporter));
      } finally {
        reporter.stop();
      }
    },
  };
}

/** Waits until the run may continue. If a dead attempt has paid, it may continue only if this attempt can never pay. */
async function untilOperatorsDecide(
  ledger: Ledger,
  ended: AttemptRow,
  reporter: LandingReporter,
  recheckMs: number,
): Promise<Landing> {
  for (let attempt = ended; ; attempt = await ledger.attempts.get(attempt.settlementId, attempt.n)) {
    if (attempt.state === 'dead') return landingOf(attempt, false);
    const row = await ledger.settlements.get(attempt.settlementId);
    const isComposedAgain = attempt.state === 'failed' && attempt.adoptedFrom === null;
    if (!isPaidByDead(row) || isComposedAgain) return landingOf(attempt, row.status !== 'failed');
    reporter.show({ n: attempt.n, status: row.status, reason: row.reason });
    await sleep(recheckMs);
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
 * Handles work on a signed attempt that is missing from the database, because PostgreSQL was restored from an older
 * backup. Pauses all payments and makes the run wait for the row, so that the run never composes again. Rethrows
 * every other error.
 */
export async function waitIfRowLost<T>(ledger: Ledger, step: SignedStep, work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (error) {
    // NotFound can also be about another row, for example one of the kind.
    if (!isDomainError(error, 'NotFound') || error.context['settlementId'] !== step.id) throw error;
    const alarm = lostAlarm(step, error);
    // Pause only once in each database: after an operator resumes payments, only this settlement stays stopped.
    const raised = await ledger.alerts.subjectsEverRaised(alarm.kind, [step.id]);
    if (!raised.has(step.id)) await ledger.pauses.pauseWithAlert(alarm, step.id);
    throw retryLater(alarm.kind, alarm.message, TIMEOUTS.operatorLookMs);
  }
}

function lostAlarm({ id, n, signature }: SignedStep, { message }: DomainError): Alarm {
  return {
    kind: 'attempt_lost',
    subject: id,
    message: `attempt ${n} of settlement ${id} was signed with signature ${signature}, but ${message}: the database was restored from an older backup`,
    details: { n, signature },
  };
}

export function createQuickLanding(deps: JudgeDeps) {
  const { ledger } = deps;
  const judge = createJudge(deps);

  /**
   * Stores the signature and sends the attempt. Returns when a node reports the attempt as confirmed, when the
   * attempt has ended, or after `timeoutMs`. The database has the result.
   */
  return async function landQuickly(
    id: string,
    n: number,
    signature: string,
    timeoutMs: number,
  ): Promise<void> {
    const attempt = await signedAttempt(ledger, id, n, signature);
    if (attempt.state !== 'signed') return;
    const stopper = new AbortController();
    const timer = setTimeout(() => stopper.abort(), timeoutMs);
    const show = ({ status }: LandingReport) => void (status === 'confirmed' && stopper.abort());
    const signal = AbortSignal.any([stopper.signal, cancellationSignal()]);
    try {
      const judgement = await judge(attempt, { begin: show, show }, signal);
      if (judgement !== null) await settle(deps, attempt, judgement);
    } catch (error) {
      if (!stopper.signal.aborted) throw error;
    } finally {
      clearTimeout(timer);
    }
  };
}

type Status = LandingReport['status'];

/** Heartbeat details for the next try of the activity: the report, and the status that the workflow has. */
interface HeartbeatDetails extends LandingReport {
  readonly signature: string;
  readonly runShows: Status;
}

/**
 * Reports the progress of a landing: each change in the heartbeat, and a change of `held` also by a signal to the
 * workflow. A failed signal is sent again with a later heartbeat. Construct the reporter inside the waiting activity.
 */
export class LandingReporter {
  readonly #context = Context.current();
  readonly #signature: string;
  readonly #timer: NodeJS.Timeout;
  /** True if callers of this kind wait for `confirmed`, so that this status is signalled too. */
  #answersAtConfirmed = false;
  #report: LandingReport;
  #statusInRun: Status;
  #lastSignalAt = Number.NEGATIVE_INFINITY;
  /** Status of the last signal, delivered or not. */
  #lastSignalled: Status | null = null;

  constructor(n: number, signature: string) {
    this.#signature = signature;
    this.#report = { n, status: 'sending', reason: null };
    const last = this.#context.info.heartbeatDetails as Partial<HeartbeatDetails> | undefined;
    this.#statusInRun = last?.runShows ?? 'sending';
    this.#timer = setInterval(() => this.#sendHeartbeat(), TIMEOUTS.heartbeatEveryMs);
  }

  /**
   * Call this with the stored status when the wait begins. If callers wait for `confirmed`, the workflow already has
   * that status at the first try. Later tries know only what the last heartbeat contains.
   */
  begin(report: LandingReport, answersAt: AwaitedCommitment): void {
    this.#answersAtConfirmed = answersAt === 'confirmed';
    const isFirst = this.#context.info.attempt === 1;
    if (this.#answersAtConfirmed && isFirst && report.status === 'confirmed') this.#statusInRun = 'confirmed';
    this.show(report);
  }

  show(report: LandingReport): void {
    this.#report = report;
    this.#keepRunInformed();
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  #sendHeartbeat(): void {
    this.#keepRunInformed();
    const details: HeartbeatDetails = {
      ...this.#report,
      signature: this.#signature,
      runShows: this.#statusInRun,
    };
    this.#context.heartbeat(details);
  }

  #keepRunInformed(): void {
    const { status } = this.#report;
    const visibleStatus = status === 'confirmed' && !this.#answersAtConfirmed ? 'sending' : status;
    // Callers wait for `confirmed`, so that signal does not wait for the minimum interval between two signals.
    const isAwaited = visibleStatus === 'confirmed' && this.#lastSignalled !== visibleStatus;
    const isDue = isAwaited || performance.now() - this.#lastSignalAt >= TIMEOUTS.landingSignalMs;
    if (visibleStatus !== this.#statusInRun && isDue) void this.#signal(visibleStatus);
  }

  async #signal(visibleStatus: Status): Promise<void> {
    this.#lastSignalAt = performance.now();
    this.#lastSignalled = visibleStatus;
    const { client, info, log } = this.#context;
    try {
      const { workflowId = '', runId = '' } = info.workflowExecution ?? {};
      await client.workflow.getHandle(workflowId, runId).signal(LANDING_REPORT, this.#report);
      this.#statusInRun = visibleStatus;
    } catch (error) {
      log.warn(
        'the progress of a landing could not be signalled to the workflow run: a later heartbeat tries again',
        { error },
      );
    }
  }
}
