import { sql } from 'kysely';
import { DomainError } from '../../domain/errors.ts';
import { WITHDRAWAL } from '../../domain/settlement.ts';
import { fingerprint, termsConflict } from '../../domain/terms.ts';
import type { WithdrawalStatus, WithdrawalTerms } from '../../domain/withdrawal.ts';
import type { Database } from '../database.ts';
import { negated, negative, type Page, type PageRequest, pageOf, positionBefore } from '../page.ts';
import { lockSettlement } from '../settlements/settlement-row.ts';
import { termsOf } from './terms-of-row.ts';
import { noWithdrawal, selectWithdrawals, toWithdrawalRow, type WithdrawalRow } from './withdrawal-row.ts';

export type { WithdrawalRow } from './withdrawal-row.ts';

export interface WithdrawalFilter extends PageRequest {
  readonly status?: WithdrawalStatus | undefined;
  readonly asset?: string | undefined;
  readonly destination?: string | undefined;
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

/** Customers' requests: one row for each id for ever, beside the settlement that has its status. */
export class Withdrawals {
  readonly #db: Database;

  constructor(db: Database) {
    this.#db = db;
  }

  /** Takes the id for these terms, or returns the row that has it. Throws TermsConflict for other terms. */
  async reserve(terms: WithdrawalTerms): Promise<{ row: WithdrawalRow; created: boolean }> {
    const { id, asset, amount, destination, acceptEmptyWallet = false, memo = null } = terms;
    const stored = await this.#db
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
    const stored = await selectWithdrawals(this.#db).where('withdrawal.id', '=', id).executeTakeFirst();
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
    const { status, asset, destination, limit } = filter;
    const isOfTerms = asset !== undefined || destination !== undefined;
    // Both tables have the same position; each orders by the index of its own filter.
    const order = isOfTerms
      ? negative('withdrawal.position')
      : (status === undefined ? negative : negated)('settlement.position');
    let query = selectWithdrawals(this.#db)
      .where('settlement.kind', '=', WITHDRAWAL)
      .where(order, '>', -positionBefore(filter));
    if (status !== undefined) query = query.where('settlement.status', '=', status);
    if (asset !== undefined) query = query.where('withdrawal.asset', '=', asset);
    if (destination !== undefined) query = query.where('withdrawal.destination', '=', destination);
    const newest = query.orderBy(order).limit(limit + 1);
    const { rows, nextCursor } = pageOf(await newest.execute(), filter);
    return { rows: rows.map(toWithdrawalRow), nextCursor };
  }

  /** The customer accepts the destination. Throws NotAwaitingConfirmation if nothing waits for that. */
  async confirmDestination(id: string): Promise<WithdrawalRow> {
    return this.#db.transaction().execute(async (trx) => {
      const { status } = await lockSettlement(trx, id);
      const before = await selectWithdrawals(trx).where('withdrawal.id', '=', id).executeTakeFirstOrThrow();
      if (before.confirmedByCustomer) return toWithdrawalRow(before);
      if (status !== 'awaiting_confirmation') {
        const message = `withdrawal ${id} does not wait for a confirmation: it is ${status}`;
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
}
