import { ApplicationFailure } from '@temporalio/common';
import { isDomainError } from '../domain/errors.ts';
import { type StatusReason, WITHDRAWAL } from '../domain/settlement.ts';
import type { DisplayedStatus, Preparation, SettlementState } from '../domain/steps.ts';
import { CANCELLED, checkTerms, type WithdrawalTerms } from '../domain/withdrawal.ts';
import type { Ledger } from '../ledger/ledger.ts';
import type { SettlementRow } from '../ledger/settlements/settlements.ts';
import { type Kind, kindOf } from '../settlement/kind.ts';
import { createLanding, type LandingDeps } from '../settlement/land.ts';
import { prepareNext } from '../settlement/prepare.ts';
import { holdUnlessEnded, stateOf } from '../settlement/state.ts';

/** Activities of the withdrawal workflow on the chain worker. Throws NotFound if `kinds` lacks withdrawals. */
export function createWithdrawalActivities(deps: LandingDeps) {
  const { ledger, kinds } = deps;
  const kind = kindOf(kinds, { kind: WITHDRAWAL });
  return { ...createAdmission(deps), ...createPreparation({ ledger, kind }), ...createLanding(deps) };
}

export type WithdrawalActivities = ReturnType<typeof createWithdrawalActivities>;

/** Steps that only use the database: reserve the id, store the confirmation, cancel. Each is idempotent. */
export function createAdmission({ ledger }: { readonly ledger: Ledger }) {
  async function current(id: string): Promise<SettlementState> {
    return stateOf(ledger, await ledger.settlements.get(id));
  }

  return {
    /** Reserves the id, or returns the state that an earlier run left. @throws InvalidRequest, TermsConflict */
    async admit(terms: WithdrawalTerms): Promise<SettlementState> {
      const checked = checkTerms(terms);
      const { row, created } = await ledger.withdrawals.reserve(checked);
      return created ? { status: row.status, reason: row.reason, attempt: null } : current(checked.id);
    },

    /** Stores the customer's confirmation of the destination. @throws NotAwaitingConfirmation */
    async confirm({ id }: { readonly id: string }): Promise<void> {
      await ledger.withdrawals.confirmDestination(id);
    },

    /** Cancels unless an attempt may land; see `Settlements.cancel`. @throws NotCancellable, RecordInDoubt */
    async cancel({ id }: { readonly id: string }): Promise<SettlementState> {
      await ledger.settlements.cancel(id, CANCELLED).catch(once);
      return current(id);
    },

    /** See {@link holdUnlessEnded}. Reserves the withdrawal again first if a restore has lost it. */
    async hold(input: {
      readonly terms: WithdrawalTerms;
      readonly reason: StatusReason;
    }): Promise<SettlementState> {
      const { id } = await readmitted(ledger, input.terms);
      await holdUnlessEnded(ledger, id, input.reason);
      return current(id);
    },
  };
}

/** Not retried: after a refusal the withdrawal must not be cancelled later, unless the customer asks again. */
function once(error: unknown): never {
  if (!isDomainError(error, 'RecordInDoubt')) throw error;
  const { code: type, context, message } = error;
  throw ApplicationFailure.create({ message, type, nonRetryable: true, details: [context] });
}

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

/**
 * Returns the settlement of a running withdrawal. If PostgreSQL was restored from before it, reserves it again with
 * the run's own terms. It then stays stopped until operators have checked whether a lost attempt has paid it.
 */
async function readmitted(ledger: Ledger, terms: WithdrawalTerms): Promise<SettlementRow> {
  const row = await ledger.settlements.find(terms.id);
  if (row !== undefined) return row;
  const message =
    'the database was restored from a backup without it: end it as paid, or close this alert so that Sluice pays it';
  // The alert comes first: a reserved withdrawal may be prepared.
  await ledger.alerts.raise({ kind: 'maybe_paid', subject: terms.id, message });
  await ledger.withdrawals.reserve(terms);
  return ledger.settlements.get(terms.id);
}
