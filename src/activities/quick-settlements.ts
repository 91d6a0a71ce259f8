import { isDomainError } from '../domain/errors.ts';
import type { Shown, Standing } from '../domain/steps.ts';
import { createAnswering } from '../settlement/answer.ts';
import type { JudgeDeps } from '../settlement/record-verdict.ts';
import { setAside } from '../settlement/state.ts';
import { createSettlementActivities, type SettlementsDeps } from './settlements.ts';

export interface QuickDeps extends JudgeDeps, Pick<SettlementsDeps, 'signer'> {
  /** So long a caller waits for `confirmed` before the settlement goes on as any other. Default 2,000 ms. */
  readonly answerWithinMs?: number;
}

const ANSWER_WITHIN_MS = 2_000;

/** The first part of settlements whose callers are answered within a second. It may be repeated at will. */
export function createQuickActivities(deps: QuickDeps) {
  const { ledger, answerWithinMs = ANSWER_WITHIN_MS } = deps;
  const steps = createSettlementActivities(deps);
  const answerSoon = createAnswering(deps);

  return {
    /**
     * Prepares, signs, stores and sends, and answers where the settlement is as soon as a node shows it confirmed, or after two seconds.
     * Where a signature is still to come, as its keys are on other workers, it answers that. A repeated call goes on with the attempt on
     * record. @throws NotFound, SigningRefused
     */
    async settleQuickly({ id, shown }: { readonly id: string; readonly shown: Shown }): Promise<Standing> {
      try {
        const preparation = await steps.prepareSettlement({ id, shown });
        if (preparation.kind === 'prepared') {
          const { n, signature, tasks = [] } = preparation.attempt;
          if (signature !== null && tasks.length === 0) await answerSoon(id, n, signature, answerWithinMs);
        }
      } catch (error) {
        if (isDomainError(error, 'SigningRefused'))
          await setAside(ledger, id, { code: 'signing_refused', message: error.message });
        throw error;
      }
      return steps.findSettlement({ id });
    },
  };
}

export type QuickActivities = ReturnType<typeof createQuickActivities>;
