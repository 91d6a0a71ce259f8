import { ApplicationFailure } from '@temporalio/common';
import { isDomainError } from '../domain/errors.ts';
import type { StatusReason } from '../domain/settlement.ts';
import type { Standing } from '../domain/steps.ts';
import { checkTerms } from '../domain/terms.ts';
import { CANCELLED, type WithdrawalTerms } from '../domain/withdrawal.ts';
import type { Ledger } from '../ledger/ledger.ts';
import { setAside, standingOf } from '../settlement/state.ts';
import { readmitted } from './readmission.ts';

/** The steps that only touch the record: reserve the id, take the customer's word, cancel. Each may be repeated at will. */
export function createAdmission({ ledger }: { readonly ledger: Ledger }) {
  async function standing(id: string): Promise<Standing> {
    return standingOf(ledger, await ledger.settlements.get(id));
  }

  return {
    /** Reserves the id with its terms, or finds where an earlier run left it. @throws InvalidRequest, TermsConflict */
    async admit(terms: WithdrawalTerms): Promise<Standing> {
      const checked = checkTerms(terms);
      const { row, created } = await ledger.withdrawals.reserve(checked);
      // A new one has no attempt to look for.
      return created ? { status: row.status, reason: row.reason, attempt: null } : standing(checked.id);
    },

    /** Records that the customer wants the wallet paid as it is. @throws NotAwaitingConfirmation */
    async confirm({ id }: { readonly id: string }): Promise<void> {
      await ledger.withdrawals.confirmDestination(id);
    },

    /** Cancels where nothing is on its way; see `Settlements.cancel`. @throws NotCancellable, RecordInDoubt */
    async cancel({ id }: { readonly id: string }): Promise<Standing> {
      await ledger.settlements.cancel(id, CANCELLED).catch(once);
      return standing(id);
    },

    /** See {@link setAside}; one that a restored record does not have is taken in again first. */
    async hold(input: { readonly terms: WithdrawalTerms; readonly reason: StatusReason }): Promise<Standing> {
      const { id } = await readmitted(ledger, input.terms);
      await setAside(ledger, id, input.reason);
      return standing(id);
    },
  };
}

/** A customer who was told that it is not cancelled now must not find it cancelled later: to ask again is theirs. */
function once(error: unknown): never {
  if (!isDomainError(error, 'RecordInDoubt')) throw error;
  const { code: type, context, message } = error;
  throw ApplicationFailure.create({ message, type, nonRetryable: true, details: [context] });
}
