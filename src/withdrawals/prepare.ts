import type { DisplayedStatus, Preparation } from '../domain/steps.ts';
import type { WithdrawalTerms } from '../domain/withdrawal.ts';
import type { Ledger } from '../ledger/ledger.ts';
import type { Kind } from '../settlement/kind.ts';
import { prepareNext } from '../settlement/prepare.ts';
import { readmitted } from './readmission.ts';

export function createPreparation(preparing: { readonly ledger: Ledger; readonly kind: Kind }) {
  return {
    async prepareAttempt(input: {
      readonly terms: WithdrawalTerms;
      readonly shown: DisplayedStatus;
    }): Promise<Preparation> {
      return prepareNext(preparing, await readmitted(preparing.ledger, input.terms), input.shown);
    },
  };
}
