import { isDomainError } from '../domain/errors.ts';
import { signAll } from '../domain/sign-all.ts';
import type { PreparedAttempt, Shown, Standing } from '../domain/steps.ts';
import { createAnswering } from '../settlement/answer.ts';
import type { JudgeDeps } from '../settlement/judgement.ts';
import { setAside } from '../settlement/standing.ts';
import { createSettlementActivities } from './settlements.ts';
import type { SignerActivities } from './signing.ts';

export interface QuickDeps extends JudgeDeps {
  /** A signer of this process: whoever waits for an answer waits for no other one. */
  readonly signer: SignerActivities;
  /** So long a caller waits for `confirmed` before the settlement goes on as any other. Default 2,000 ms. */
  readonly answerWithinMs?: number;
}

const ANSWER_WITHIN_MS = 2_000;

/** The first part of settlements whose callers are answered within a second. It may be repeated at will. */
export function createQuickActivities(deps: QuickDeps) {
  const { ledger, signer, answerWithinMs = ANSWER_WITHIN_MS } = deps;
  const steps = createSettlementActivities(deps);
  const answerSoon = createAnswering(deps);

  async function answer(id: string, { n, signature, tasks = [] }: PreparedAttempt): Promise<void> {
    try {
      const signed = await signAll(signature, tasks, {
        sign: async (task) => (await signer.signTransaction(task)).signature,
        store: (other) => steps.storeSignature({ id, n, signature: other }),
      });
      if (signed !== null) await answerSoon(id, n, signed, answerWithinMs);
    } catch (error) {
      if (isDomainError(error, 'SigningRefused'))
        await setAside(ledger, id, { code: 'signing_refused', message: error.message });
      throw error;
    }
  }

  return {
    /**
     * Prepares, signs, stores and sends, and answers where the settlement is as soon as a node shows it confirmed, or after two seconds.
     * A repeated call goes on with the attempt on record. @throws NotFound, SigningRefused
     */
    async settleQuickly({ id, shown }: { readonly id: string; readonly shown: Shown }): Promise<Standing> {
      const preparation = await steps.prepareSettlement({ id, shown });
      if (preparation.kind === 'prepared') await answer(id, preparation.attempt);
      return steps.findSettlement({ id });
    },
  };
}

export type QuickActivities = ReturnType<typeof createQuickActivities>;
