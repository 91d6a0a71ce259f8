import { cancellationSignal, sleep } from '@temporalio/activity';
import { isPaidByDead } from '../domain/settlement.ts';
import type { Landing, SignedStep } from '../domain/steps.ts';
import { TIMEOUTS } from '../domain/timeouts.ts';
import type { Ledger } from '../ledger/ledger.ts';
import type { AttemptRow } from '../ledger/settlements/attempts.ts';
import { LandingReporter } from './landing-reporter.ts';
import { unlessLost } from './lost-rows.ts';
import { createJudge, failureOf, type JudgeDeps, settle } from './record-verdict.ts';
import { signedAttempt } from './signed-attempt.ts';

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
