import { isDomainError } from '../domain/errors.ts';
import { isTerminal } from '../domain/settlement.ts';
import type { SettlementState } from '../domain/steps.ts';
import { createQuickLanding } from '../settlement/land.ts';
import type { JudgeDeps } from '../settlement/record-verdict.ts';
import { holdUnlessEnded } from '../settlement/state.ts';
import {
  createSettlementActivities,
  type SettlementActivities,
  type SettlementsDeps,
} from './settlements.ts';
import { isBuyerOwed } from './x402.ts';

export interface QuickDeps extends JudgeDeps, Pick<SettlementsDeps, 'signer'> {
  /**
   * Milliseconds that a caller waits for `confirmed`; the settlement then continues without the caller. Default 2,000.
   */
  readonly answerWithinMs?: number;
}

/** `isOwed`: whether the buyer must still be served; only if the settlement has ended. */
export type QuickState = SettlementState & { readonly isOwed?: boolean };

type QuickInput = Parameters<SettlementActivities['prepareSettlement']>[0];

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
    async settleQuickly(input: QuickInput): Promise<QuickState> {
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
      const state = await steps.findSettlement({ id });
      return isTerminal(state.status) ? { ...state, isOwed: await isBuyerOwed(ledger, id) } : state;
    },
  };
}

export type QuickActivities = ReturnType<typeof createQuickActivities>;
