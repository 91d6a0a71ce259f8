import type { Selectable } from 'kysely';
import { DomainError } from '../../domain/errors.ts';
import { isWithdrawalStatus, type WithdrawalStatus, type WithdrawalTerms } from '../../domain/withdrawal.ts';
import type { Database, Tables } from '../database.ts';
import { type SettlementRow, toSettlementRow } from '../settlements/settlement-row.ts';

export interface WithdrawalRow extends Omit<SettlementRow, 'kind' | 'subjectId' | 'status' | 'wasConfirmed'> {
  readonly status: WithdrawalStatus;
  readonly asset: string;
  /** Base units that leave the hot wallet. */
  readonly amount: bigint;
  readonly destination: string;
  readonly acceptEmptyWallet: boolean;
  readonly memo: string | null;
  readonly fingerprint: string;
  readonly confirmedByCustomer: boolean;
  /** What reached the destination, after a transfer fee; null while it is not known. */
  readonly amountReceived: bigint | null;
}

export function toWithdrawalRow(
  stored: Selectable<Tables['withdrawal']> & Selectable<Tables['settlement']>,
): WithdrawalRow {
  const { id, asset, amount, destination, acceptEmptyWallet, memo, ...rest } = stored;
  const { fingerprint, confirmedByCustomer, amountReceived, ...settlement } = rest;
  const { status, reason, createdAt, updatedAt } = toSettlementRow({ id, ...settlement });
  if (!isWithdrawalStatus(status))
    throw new Error(`a withdrawal is composed anew: ${id} cannot be ${status}`);
  const terms = { id, asset, amount, destination, acceptEmptyWallet, memo, fingerprint };
  return { ...terms, confirmedByCustomer, amountReceived, status, reason, createdAt, updatedAt };
}

export function selectWithdrawals(db: Database) {
  return db
    .selectFrom('withdrawal')
    .innerJoin('settlement', 'settlement.id', 'withdrawal.id')
    .selectAll(['settlement', 'withdrawal']);
}

export function noWithdrawal(id: string): DomainError {
  return new DomainError('NotFound', `there is no withdrawal ${id}`, { id });
}

/** The terms with which the id was reserved: its workflow must start with them. */
export function termsOf(row: WithdrawalRow): WithdrawalTerms {
  return {
    id: row.id,
    asset: row.asset,
    amount: row.amount.toString(),
    destination: row.destination,
    acceptEmptyWallet: row.acceptEmptyWallet,
    ...(row.memo === null ? {} : { memo: row.memo }),
  };
}
