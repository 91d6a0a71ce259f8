import { type RawBuilder, type Selectable, sql, type Transaction } from 'kysely';
import { DomainError } from '../domain/errors.ts';
import {
  PAID_BY_DEAD,
  type StatusReason,
  statesBefore,
  type WithdrawalStatus,
} from '../domain/withdrawal.ts';
import type { Tables } from './database.ts';
import { tellWithdrawal } from './outbox.ts';
import { alertTokenHold } from './token-holds.ts';

/** A withdrawal as it stands on record. */
export interface WithdrawalRow {
  readonly id: string;
  readonly asset: string;
  /** Base units that leave the hot wallet. */
  readonly amount: bigint;
  readonly destination: string;
  readonly acceptEmptyWallet: boolean;
  readonly memo: string | null;
  readonly fingerprint: string;
  readonly status: WithdrawalStatus;
  readonly reason: StatusReason | null;
  readonly confirmedByCustomer: boolean;
  /** What reaches the destination, where it differs by a transfer fee or is known at all. */
  readonly amountReceived: bigint | null;
  readonly createdAt: Date;
  readonly updatedAt: Date;
}

/** The row as the database gives it, in the shape of this program. */
export function toWithdrawalRow(stored: Selectable<Tables['withdrawal']>): WithdrawalRow {
  const { position: _position, reasonCode, reasonMessage, ...rest } = stored;
  const reason =
    reasonCode === null || reasonMessage === null ? null : { code: reasonCode, message: reasonMessage };
  return { ...rest, reason };
}

/**
 * Locks the withdrawal until the transaction ends. Everything that changes a withdrawal, its attempts or its reservations takes
 * this lock first and in a statement of its own, so that what is read afterwards includes what the lock waited for.
 */
export async function lockWithdrawal(trx: Transaction<Tables>, id: string): Promise<WithdrawalRow> {
  const stored = await trx
    .selectFrom('withdrawal')
    .selectAll()
    .where('id', '=', id)
    .forUpdate()
    .executeTakeFirst();
  if (stored === undefined) throw noWithdrawal(id);
  return toWithdrawalRow(stored);
}

/**
 * Compare-and-set of the status; throws IllegalTransition where the state machine forbids `to`, and for everything but a cancel where
 * a dead attempt has paid it. Where the status or the code of its reason differs from before, that is put out to webhooks. The caller
 * holds the lock.
 */
export async function enterStatus(
  trx: Transaction<Tables>,
  id: string,
  to: WithdrawalStatus,
  reason: StatusReason | null = null,
  amountReceived?: bigint,
): Promise<WithdrawalRow> {
  const entered = await trx
    .updateTable('withdrawal')
    .from((row) =>
      row
        .selectFrom('withdrawal as old')
        .select(['old.status as oldStatus', 'old.reasonCode as oldCode'])
        .where('old.id', '=', id)
        .as('before'),
    )
    .set({
      status: to,
      reasonCode: reason?.code ?? null,
      reasonMessage: reason?.message ?? null,
      updatedAt: sql<Date>`now()`,
      ...(amountReceived === undefined ? {} : { amountReceived }),
    })
    .where('withdrawal.id', '=', id)
    .where('withdrawal.status', 'in', statesBefore(to))
    .$if(to !== 'cancelled', (query) =>
      query.where('withdrawal.reasonCode', 'is distinct from', PAID_BY_DEAD),
    )
    .returningAll('withdrawal')
    .returning(['before.oldStatus', 'before.oldCode'])
    .returning(newestSignatureOf(id).as('signature'))
    .executeTakeFirst();
  if (entered === undefined)
    throw new DomainError('IllegalTransition', `withdrawal ${id} may not become ${to} from where it is`, {
      id,
      to,
    });
  const { oldStatus, oldCode, signature, ...stored } = entered;
  await alertTokenHold(trx, oldCode, stored);
  if (oldStatus !== stored.status || oldCode !== stored.reasonCode)
    await tellWithdrawal(trx, stored, signature);
  return toWithdrawalRow(stored);
}

/** Null where no attempt is signed yet, the newest not among them. */
function newestSignatureOf(id: string): RawBuilder<string | null> {
  return sql`(select signature from attempt where withdrawal_id = ${id} order by n desc limit 1)`;
}

/** The error for an id that was never reserved. */
export function noWithdrawal(id: string): DomainError {
  return new DomainError('NotFound', `there is no withdrawal ${id}`, { id });
}
