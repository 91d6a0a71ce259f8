import { isDomainError } from '../domain/errors.ts';
import type { SettlementState } from '../domain/steps.ts';
import { createQuickLanding } from '../settlement/land.ts';
import type { JudgeDeps } from '../settlement/record-verdict.ts';
import { holdUnlessEnded } from '../settlement/state.ts';
import { createSettlementActivities, type SettlementsDeps } from './settlements.ts';

export interface QuickDeps extends JudgeDeps, Pick<SettlementsDeps, 'signer'> {
  /**
   * Milliseconds that a caller waits for `confirmed`; the settlement then continues without the caller. Default 2,000.
   */
  readonly answerWithinMs?: number;
}

const DEFAULT_ANSWER_WITHIN_MS = 2_000;

/** The first part of settlements whose callers expect an answer within about a second. Idempotent. */
export function createQuickActivities(deps: QuickDeps) {
  const { ledger, answerWithinMs = DEFAULT_ANSWER_WITHIN_MS } = deps;
  const steps = createSettlementActivities(deps);
  const landQuickly = createQuickLanding(deps);

  return {
    /**
     * Prepares, signs and sends an attempt. Returns the state when a node reports the attempt as confirmed, or after
     * `answerWithinMs`, or at once if keys on other workers must sign. A repeated call continues with the stored
     * attempt.
     * @throws NotFound, SigningRefused
     */
    async settleQuickly(input: Parameters<typeof steps.prepareSettlement>[0]): Promise<SettlementState> {
      const { id } = input;
      try {
        const preparation = await steps.prepareSettlement(input);
        if (preparation.kind === 'prepared') {
          const { n, signature, tasks = [] } = preparation.attempt;
          if (signature !== null && tasks.length === 0) await landQuickly(id, n, signature, answerWithinMs);
        }
      } catch (error) {
        if (isDomainError(error, 'SigningRefused'))
          await holdUnlessEnded(ledger, id, { code: 'signing_refused', message: error.message });
        throw error;
      }
      return steps.findSettlement({ id });
    },
  };
}

export type QuickActivities = ReturnType<typeof createQuickActivities>;
