import { ApplicationFailure } from '@temporalio/common';
import { isDomainError } from '../domain/errors.ts';
import type { StatusReason } from '../domain/settlement.ts';
import type { SettlementState } from '../domain/steps.ts';
import { checkTerms } from '../domain/terms.ts';
import { CANCELLED, type WithdrawalTerms } from '../domain/withdrawal.ts';
import type { Ledger } from '../ledger/ledger.ts';
import { setAside, standingOf } from '../settlement/state.ts';
import { readmitted } from './readmission.ts';

/** Steps that only use the database: reserve the id, store the confirmation, cancel. Each is idempotent. */
export function createAdmission({ ledger }: { readonly ledger: Ledger }) {
  async function standing(id: string): Promise<SettlementState> {
    return standingOf(ledger, await ledger.settlements.get(id));
  }

  return {
    /** Reserves the id, or returns the state that an earlier run left. @throws InvalidRequest, TermsConflict */
    async admit(terms: WithdrawalTerms): Promise<SettlementState> {
      const checked = checkTerms(terms);
      const { row, created } = await ledger.withdrawals.reserve(checked);
      return created ? { status: row.status, reason: row.reason, attempt: null } : standing(checked.id);
    },

    /** Stores the customer's confirmation of the destination. @throws NotAwaitingConfirmation */
    async confirm({ id }: { readonly id: string }): Promise<void> {
      await ledger.withdrawals.confirmDestination(id);
    },

    /** Cancels unless an attempt may land; see `Settlements.cancel`. @throws NotCancellable, RecordInDoubt */
    async cancel({ id }: { readonly id: string }): Promise<SettlementState> {
      await ledger.settlements.cancel(id, CANCELLED).catch(once);
      return standing(id);
    },

    /** See {@link setAside}. Reserves the withdrawal again first if a restore has lost it. */
    async hold(input: {
      readonly terms: WithdrawalTerms;
      readonly reason: StatusReason;
    }): Promise<SettlementState> {
      const { id } = await readmitted(ledger, input.terms);
      await setAside(ledger, id, input.reason);
      return standing(id);
    },
  };
}

/** Not retried: after a refusal the withdrawal must not be cancelled later, unless the customer asks again. */
function once(error: unknown): never {
  if (!isDomainError(error, 'RecordInDoubt')) throw error;
  const { code: type, context, message } = error;
  throw ApplicationFailure.create({ message, type, nonRetryable: true, details: [context] });
}
