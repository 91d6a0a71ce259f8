import { ApplicationFailure } from '@temporalio/common';
import { isDomainError } from '../domain/errors.ts';
import { isPaidByDead, type StatusReason } from '../domain/settlement.ts';
import type { Standing } from '../domain/steps.ts';
import { checkTerms } from '../domain/terms.ts';
import { CANCELLED, type WithdrawalTerms } from '../domain/withdrawal.ts';
import type { Ledger } from '../ledger/ledger.ts';
import { currentAttempt, preparedAttempt } from '../settlement/prepared-attempt.ts';
import { readmitted } from '../withdrawals/readmission.ts';

/** The steps that only touch the record: reserve the id, take the customer's word, cancel. Each may be repeated at will. */
export function createAdmission({ ledger }: { readonly ledger: Ledger }) {
  async function standing(id: string): Promise<Standing> {
    const row = await ledger.settlements.get(id);
    const { status, reason } = row;
    const current = currentAttempt(await ledger.attempts.of(id));
    const attempt = current === null ? null : preparedAttempt(current);
    // What is not signed yet never is where a dead attempt has paid.
    const goesOn = attempt?.signature !== null || !isPaidByDead(row);
    return { status, reason, attempt: goesOn ? attempt : null };
  }

  return {
    /** Reserves the id with its terms, or finds where an earlier run left it. @throws InvalidRequest, TermsConflict */
    async admit(terms: WithdrawalTerms): Promise<Standing> {
      const checked = checkTerms(terms);
      await ledger.withdrawals.reserve(checked);
      return standing(checked.id);
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

    /** Sets the withdrawal aside with the reason; what is signed or prepared stays as it is, and so does an end that came first. */
    async hold(input: { readonly terms: WithdrawalTerms; readonly reason: StatusReason }): Promise<Standing> {
      const { id } = await readmitted(ledger, input.terms);
      try {
        await ledger.settlements.move(id, 'held', input.reason);
      } catch (error) {
        if (!isDomainError(error, 'IllegalTransition')) throw error;
      }
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
