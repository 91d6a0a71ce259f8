import { sql } from 'kysely';
import { SOL } from '../../domain/deposit-asset.ts';
import { DomainError } from '../../domain/errors.ts';
import { isTerminal, UNFINISHED, UNPAID_ENDS } from '../../domain/settlement.ts';
import { WITHDRAWAL } from '../../domain/settlement-kinds.ts';
import {
  fingerprint,
  isWithdrawalStatus,
  termsConflict,
  type WithdrawalStatus,
  type WithdrawalTerms,
} from '../../domain/withdrawal.ts';
import { anyOf, type Database, Repository, type RowOf } from '../database.ts';
import { EPOCH } from '../operations/restore-detection.ts';
import {
  mapPage,
  negationOf,
  type Page,
  type PageRequest,
  positionBefore,
  readPage,
  zeroMinus,
} from '../page.ts';
import { LIVE_STATES } from '../settlements/attempt-row.ts';
import { lockSettlement, type SettlementRow, toSettlementRow } from '../settlements/settlement-row.ts';

export interface WithdrawalFilter extends PageRequest {
  readonly status?: WithdrawalStatus | undefined;
  readonly asset?: string | undefined;
  readonly destination?: string | undefined;
}

/** A withdrawal that no recorded attempt has paid or can still pay. */
export interface UnpaidWithdrawal extends Pick<RowOf<'withdrawal'>, 'id' | 'destination' | 'asset'> {
  /** True if the withdrawal was rejected, cancelled or failed, so the customer may have been refunded. */
  readonly hasEnded: boolean;
}

const COLUMNS = [
  'id',
  'asset',
  'amount',
  'destination',
  'acceptEmptyWallet',
  'memo',
  'fingerprint',
  'position',
] as const;

/** Customers' requests: one permanent row for each id. The settlement with that id has the status. */
export class Withdrawals extends Repository {
  /** Reserves the id for these terms, or returns the stored row. Throws TermsConflict if the stored terms differ. */
  async reserve(terms: WithdrawalTerms): Promise<{ row: WithdrawalRow; created: boolean }> {
    const { id, asset, amount, destination, acceptEmptyWallet = false, memo = null } = terms;
    const stored = await this.db
      .with('settlement', (db) =>
        db
          .insertInto('settlement')
          .values({ id, kind: WITHDRAWAL, subjectId: id, status: 'requested' })
          .onConflict((conflict) => conflict.column('id').doNothing())
          .returningAll(),
      )
      .with('withdrawal', (db) =>
        db
          .insertInto('withdrawal')
          .columns(COLUMNS)
          .expression(
            db
              .selectFrom('settlement')
              .select([
                'id',
                sql<string>`${asset}::text`.as('asset'),
                sql<bigint>`${amount}::numeric`.as('amount'),
                sql<string>`${destination}::text`.as('destination'),
                sql<boolean>`${acceptEmptyWallet}::boolean`.as('acceptEmptyWallet'),
                sql<string | null>`${memo}::text`.as('memo'),
                sql<string>`${fingerprint(terms)}::text`.as('fingerprint'),
                'position',
              ]),
          )
          .returningAll(),
      )
      .selectFrom('withdrawal')
      .innerJoin('settlement', 'settlement.id', 'withdrawal.id')
      .selectAll(['settlement', 'withdrawal'])
      .executeTakeFirst();
    if (stored !== undefined) return { row: toWithdrawalRow(stored), created: true };
    const row = await this.get(id);
    if (row.fingerprint === fingerprint(terms)) return { row, created: false };
    throw termsConflict(termsOf(row), terms);
  }

  async find(id: string): Promise<WithdrawalRow | undefined> {
    const stored = await selectWithdrawals(this.db).where('withdrawal.id', '=', id).executeTakeFirst();
    return stored === undefined ? undefined : toWithdrawalRow(stored);
  }

  /** As `find`; throws NotFound. */
  async get(id: string): Promise<WithdrawalRow> {
    const row = await this.find(id);
    if (row === undefined) throw noWithdrawal(id);
    return row;
  }

  /** Newest first. Throws InvalidRequest for a cursor that is not from an earlier page. */
  async list(filter: WithdrawalFilter): Promise<Page<WithdrawalRow>> {
    const { status, asset, destination } = filter;
    const hasTermsFilter = asset !== undefined || destination !== undefined;
    // Both tables have the same position. The order uses the table of the filter, so that its index applies.
    const order = hasTermsFilter
      ? negationOf('withdrawal.position')
      : (status === undefined ? negationOf : zeroMinus)('settlement.position');
    let query = selectWithdrawals(this.db)
      .where('settlement.kind', '=', WITHDRAWAL)
      .where(order, '>', -positionBefore(filter));
    if (status !== undefined) query = query.where('settlement.status', '=', status);
    if (asset !== undefined) query = query.where('withdrawal.asset', '=', asset);
    if (destination !== undefined) query = query.where('withdrawal.destination', '=', destination);
    return mapPage(await readPage(query.orderBy(order), filter), toWithdrawalRow);
  }

  /**
   * Stores that the customer accepts the destination. Throws NotAwaitingConfirmation if the withdrawal does not wait
   * for that.
   */
  async confirmDestination(id: string): Promise<WithdrawalRow> {
    return this.db.transaction().execute(async (trx) => {
      const { status } = await lockSettlement(trx, id);
      const before = await selectWithdrawals(trx).where('withdrawal.id', '=', id).executeTakeFirstOrThrow();
      if (before.confirmedByCustomer) return toWithdrawalRow(before);
      if (status !== 'awaiting_confirmation') {
        const message = `withdrawal ${id} does not wait for a confirmation: its status is ${status}`;
        throw new DomainError('NotAwaitingConfirmation', message, { id, status });
      }
      await trx.updateTable('withdrawal').set({ confirmedByCustomer: true }).where('id', '=', id).execute();
      const { updatedAt } = await trx
        .updateTable('settlement')
        .set({ updatedAt: sql<Date>`now()` })
        .where('id', '=', id)
        .returning('updatedAt')
        .executeTakeFirstOrThrow();
      return toWithdrawalRow({ ...before, confirmedByCustomer: true, updatedAt });
    });
  }

  /**
   * Withdrawals that an unknown transaction may have paid, because their destination or mint is among its
   * `addresses`. `anyToken`: the transaction hides who received its tokens, so every token withdrawal qualifies. No
   * recorded attempt of the withdrawals has landed or can land. They are unfinished, or ended at most a day before
   * the database was last known to be complete.
   */
  async findUnpaid(addresses: readonly string[], anyToken = false): Promise<readonly UnpaidWithdrawal[]> {
    const { endedAfter } = await this.db
      .selectNoFrom(
        sql<Date>`coalesce((select seen_at from continuity), now()) - interval '1 day'`.as('endedAfter'),
      )
      .executeTakeFirstOrThrow();
    // Few withdrawals are unfinished or ended after that time. An index selects those first; only their addresses are
    // compared.
    const rows = await this.db
      .with(
        (cte) => cte('unpaid').materialized(),
        () => this.#unpaidSettlements(endedAfter),
      )
      .selectFrom('unpaid')
      .innerJoin('withdrawal', 'withdrawal.id', 'unpaid.id')
      .select(['withdrawal.id', 'destination', 'asset', 'status'])
      .where((row) =>
        row.or([
          row('destination', '=', anyOf(addresses)),
          row('asset', '=', anyOf(addresses)),
          ...(anyToken ? [row('asset', '<>', SOL)] : []),
        ]),
      )
      .where((row) =>
        row.not(
          row.exists(
            row
              .selectFrom('attempt')
              .select('n')
              .whereRef('attempt.settlementId', '=', 'withdrawal.id')
              // A live attempt of an older epoch comes from a backup: a later attempt, which the restore lost, may
              // have paid.
              .where((of) =>
                of.or([
                  of('attempt.state', '=', 'landed'),
                  of.and([of('attempt.state', 'in', LIVE_STATES), of('attempt.epoch', '=', EPOCH)]),
                ]),
              ),
          ),
        ),
      )
      .execute();
    return rows.map(({ status, ...row }) => ({ ...row, hasEnded: isTerminal(status) }));
  }

  #unpaidSettlements(endedAfter: Date) {
    return this.db
      .selectFrom('settlement')
      .select(['id', 'status'])
      .where('kind', '=', WITHDRAWAL)
      .where('status', 'in', UNFINISHED)
      .unionAll(
        this.db
          .selectFrom('settlement')
          .select(['id', 'status'])
          .where('kind', '=', WITHDRAWAL)
          .where('status', 'in', UNPAID_ENDS)
          .where('updatedAt', '>', endedAfter),
      );
  }
}

type StoredWithdrawal = RowOf<'withdrawal'>;

/**
 * `amount`: base units that leave the hot wallet. `amountReceived`: base units that reached the destination, after a
 * transfer fee; null while it is not known.
 */
export type WithdrawalRow = Readonly<Omit<StoredWithdrawal, 'position'>> &
  Pick<SettlementRow, 'reason' | 'createdAt' | 'updatedAt'> & { readonly status: WithdrawalStatus };

function toWithdrawalRow(stored: StoredWithdrawal & RowOf<'settlement'>): WithdrawalRow {
  const { id, asset, amount, destination, acceptEmptyWallet, memo, ...rest } = stored;
  const { fingerprint: storedFingerprint, confirmedByCustomer, amountReceived, ...settlement } = rest;
  const { status, reason, createdAt, updatedAt } = toSettlementRow({ id, ...settlement });
  if (!isWithdrawalStatus(status))
    throw new Error(`withdrawal ${id} has status ${status}, which is not a withdrawal status`);
  const terms = { id, asset, amount, destination, acceptEmptyWallet, memo, fingerprint: storedFingerprint };
  return { ...terms, confirmedByCustomer, amountReceived, status, reason, createdAt, updatedAt };
}

function selectWithdrawals(db: Database) {
  return db
    .selectFrom('withdrawal')
    .innerJoin('settlement', 'settlement.id', 'withdrawal.id')
    .selectAll(['settlement', 'withdrawal']);
}

function noWithdrawal(id: string): DomainError {
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
