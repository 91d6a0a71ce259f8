import { ApplicationFailure } from '@temporalio/common';
import { isDomainError } from '../domain/errors.ts';
import { type StatusReason } from '../domain/settlement.ts';
import { WITHDRAWAL } from '../domain/settlement-kinds.ts';
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
  async function currentState(id: string): Promise<SettlementState> {
    return stateOf(ledger, await ledger.settlements.get(id));
  }

  return {
    /** Reserves the id, or returns the state that earlier runs stored. @throws InvalidRequest, TermsConflict */
    async admit(terms: WithdrawalTerms): Promise<SettlementState> {
      const checked = checkTerms(terms);
      const { row, created } = await ledger.withdrawals.reserve(checked);
      return created ? { status: row.status, reason: row.reason, attempt: null } : currentState(checked.id);
    },

    /** Stores that the customer confirms the destination. @throws NotAwaitingConfirmation */
    async confirm({ id }: { readonly id: string }): Promise<void> {
      await ledger.withdrawals.confirmDestination(id);
    },

    /** Cancels unless an attempt can still land; see `Settlements.cancel`. @throws NotCancellable, DatabaseIncomplete */
    async cancel({ id }: { readonly id: string }): Promise<SettlementState> {
      await ledger.settlements.cancel(id, CANCELLED).catch(withoutRetry);
      return currentState(id);
    },

    /**
     * Holds the settlement as {@link holdUnlessEnded} does. First reserves a withdrawal again that a database restore has
     * lost.
     */
    async hold(input: {
      readonly terms: WithdrawalTerms;
      readonly reason: StatusReason;
    }): Promise<SettlementState> {
      const { id } = await findOrReserveAgain(ledger, input.terms);
      await holdUnlessEnded(ledger, id, input.reason);
      return currentState(id);
    },
  };
}

/** Makes DatabaseIncomplete permanent: a retry could cancel the withdrawal later, after the customer has got a refusal. */
function withoutRetry(error: unknown): never {
  if (!isDomainError(error, 'DatabaseIncomplete')) throw error;
  const { code: type, context, message } = error;
  throw ApplicationFailure.create({ message, type, nonRetryable: true, details: [context] });
}

export function createPreparation(deps: { readonly ledger: Ledger; readonly kind: Kind }) {
  return {
    async prepareAttempt(input: {
      readonly terms: WithdrawalTerms;
      readonly shown: DisplayedStatus;
    }): Promise<Preparation> {
      return prepareNext(deps, await findOrReserveAgain(deps.ledger, input.terms), input.shown);
    },
  };
}

/**
 * The settlement of a running withdrawal. If a database restore has lost its row, reserves the withdrawal again with
 * the run's own terms. An alert then stops the payment until an operator has checked whether a lost attempt has paid.
 */
async function findOrReserveAgain(ledger: Ledger, terms: WithdrawalTerms): Promise<SettlementRow> {
  const row = await ledger.settlements.find(terms.id);
  if (row !== undefined) return row;
  const message =
    'the database was restored from a backup without this withdrawal, which may be paid already. If it is paid, end it as paid; otherwise close this alert so that Sluice pays it';
  // Raise the alert before reserving: as soon as the withdrawal is reserved, a worker can prepare and pay it.
  await ledger.alerts.raise({ kind: 'maybe_paid', subject: terms.id, message });
  await ledger.withdrawals.reserve(terms);
  return ledger.settlements.get(terms.id);
}
