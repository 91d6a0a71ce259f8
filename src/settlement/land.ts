import { cancellationSignal, sleep } from '@temporalio/activity';
import type { Alarm } from '../domain/alerts.ts';
import { type DomainError, isDomainError } from '../domain/errors.ts';
import { isPaidByDead } from '../domain/settlement.ts';
import type { Landing, SignedStep } from '../domain/steps.ts';
import { TIMEOUTS } from '../domain/timeouts.ts';
import type { Ledger } from '../ledger/ledger.ts';
import type { AttemptRow } from '../ledger/settlements/attempts.ts';
import { LandingReporter } from './landing-reporter.ts';
import { createJudge, failureOf, type JudgeDeps, type Reporter, settle } from './record-verdict.ts';
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
    return whenPeopleAgree(ledger, ended, reporter, restMs);
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
async function whenPeopleAgree(
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
    const told = await ledger.alerts.everRaised(alarm.kind, [remembered.id]);
    if (!told.has(remembered.id)) await ledger.pauses.sound(alarm, remembered.id);
    throw notYet(alarm.kind, alarm.message, TIMEOUTS.operatorLookMs);
  }
}

function lostAlarm({ id, n, signature }: SignedStep, { message }: DomainError): Alarm {
  return {
    kind: 'record_lost',
    subject: id,
    message: `its workflow has signed attempt ${n} as ${signature}, but ${message}: the record was restored from before it`,
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
    const show: Reporter['show'] = ({ status }) => void (status === 'confirmed' && over.abort());
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
