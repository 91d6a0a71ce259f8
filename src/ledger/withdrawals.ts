import { sql, type Transaction } from 'kysely';
import { DomainError } from '../domain/errors.ts';
import { fingerprint, termsConflict } from '../domain/terms.ts';
import {
  isPaidByDead,
  isTerminal,
  mayFollow,
  PAID_ALREADY,
  PAID_BY_DEAD,
  type StatusReason,
  UNPAID_ENDS,
  WITHDRAWAL_STATUSES,
  type WithdrawalStatus,
  type WithdrawalTerms,
} from '../domain/withdrawal.ts';
import type { Word } from '../domain/word.ts';
import { anyOf, type Database, type Tables } from './database.ts';
import { type Page, type PageRequest, pageOf, positionBefore } from './page.ts';
import { releaseReservations } from './reservations.ts';
import { doubtOf } from './stops.ts';
import { termsOf } from './terms-of-row.ts';
import {
  enterStatus,
  lockWithdrawal,
  noWithdrawal,
  toWithdrawalRow,
  type WithdrawalRow,
} from './withdrawal-row.ts';

export type { WithdrawalRow } from './withdrawal-row.ts';

/** Which withdrawals to list; all conditions must hold. */
export interface WithdrawalFilter extends PageRequest {
  readonly status?: WithdrawalStatus | undefined;
  readonly asset?: string | undefined;
  readonly destination?: string | undefined;
}

/** A slow step that found no payable attempt must not write over one that a faster step has prepared. */
const BEFORE_ANY_ATTEMPT: readonly WithdrawalStatus[] = [
  'awaiting_confirmation',
  'awaiting_funds',
  ...UNPAID_ENDS,
];
const NOT_DEAD = ['prepared', 'signed', 'landed', 'failed'] as const;
const UNFINISHED = WITHDRAWAL_STATUSES.filter((status) => !isTerminal(status));
const UNFINISHED_AT_ONCE = 500;

/** Customers' requests: one row an id for ever. Every step may be repeated and is then a success without effect. */
export class Withdrawals {
  readonly #db: Database;

  constructor(db: Database) {
    this.#db = db;
  }

  /** Takes the id for these terms, or finds the row that has it. Throws TermsConflict for other terms. */
  async reserve(terms: WithdrawalTerms): Promise<{ row: WithdrawalRow; created: boolean }> {
    const { id, asset, destination } = terms;
    const stored = await this.#db
      .insertInto('withdrawal')
      .values({
        id,
        asset,
        amount: BigInt(terms.amount),
        destination,
        acceptEmptyWallet: terms.acceptEmptyWallet ?? false,
        memo: terms.memo ?? null,
        fingerprint: fingerprint(terms),
        status: 'requested',
      })
      .onConflict((conflict) => conflict.column('id').doNothing())
      .returningAll()
      .executeTakeFirst();
    if (stored !== undefined) return { row: toWithdrawalRow(stored), created: true };
    const row = await this.get(id);
    if (row.fingerprint === fingerprint(terms)) return { row, created: false };
    throw termsConflict(termsOf(row), terms);
  }

  async find(id: string): Promise<WithdrawalRow | undefined> {
    const stored = await this.#db
      .selectFrom('withdrawal')
      .selectAll()
      .where('id', '=', id)
      .executeTakeFirst();
    return stored === undefined ? undefined : toWithdrawalRow(stored);
  }

  /** As `find`; throws NotFound. */
  async get(id: string): Promise<WithdrawalRow> {
    const row = await this.find(id);
    if (row === undefined) throw noWithdrawal(id);
    return row;
  }

  /** Throws InvalidRequest for a cursor that no page gave out. */
  async list(filter: WithdrawalFilter): Promise<Page<WithdrawalRow>> {
    const { status, asset, destination, limit } = filter;
    let query = this.#db.selectFrom('withdrawal').selectAll().where('position', '<', positionBefore(filter));
    if (status !== undefined) query = query.where('status', '=', status);
    if (asset !== undefined) query = query.where('asset', '=', asset);
    if (destination !== undefined) query = query.where('destination', '=', destination);
    const newest = query.orderBy('position', 'desc').limit(limit + 1);
    const { rows, nextCursor } = pageOf(await newest.execute(), filter);
    return { rows: rows.map(toWithdrawalRow), nextCursor };
  }

  /** Every withdrawal that has not ended, the oldest first, read some at a time. */
  async *unfinished(): AsyncGenerator<WithdrawalRow> {
    for (let after = 0n; ; ) {
      const page = await this.#db
        .selectFrom('withdrawal')
        .selectAll()
        .where('status', 'in', UNFINISHED)
        .where('position', '>', after)
        .orderBy('position')
        .limit(UNFINISHED_AT_ONCE)
        .execute();
      yield* page.map(toWithdrawalRow);
      const last = page.at(-1);
      if (last === undefined || page.length < UNFINISHED_AT_ONCE) return;
      after = last.position;
    }
  }

  /** Those of `ids` that a dead attempt has paid, with the reasons that hold them; see {@link isPaidByDead}. */
  async paidByDead(ids: readonly string[]): Promise<ReadonlyMap<string, StatusReason>> {
    const rows = await this.#db
      .selectFrom('withdrawal')
      .selectAll()
      .where('id', '=', anyOf(ids))
      .where('status', '=', 'held')
      .where('reasonCode', '=', PAID_BY_DEAD)
      .execute();
    const held = rows.map(toWithdrawalRow);
    return new Map(held.flatMap((row) => (isPaidByDead(row) ? [[row.id, row.reason]] : [])));
  }

  /**
   * Compare-and-set along the table of states; throws IllegalTransition, also for a wait or an end without payment while an
   * attempt is not dead, and RecordInDoubt for an end without payment while an attempt may be lost.
   * Such an end, and a wait for the customer, releases what was reserved: nobody knows how long a customer thinks. A wait for
   * funds keeps it. A repeated end keeps its first reason. One that a dead attempt has paid stays as it is.
   */
  async move(id: string, to: WithdrawalStatus, reason: StatusReason | null = null): Promise<WithdrawalRow> {
    return this.#db.transaction().execute(async (trx) => {
      const row = await lockWithdrawal(trx, id);
      if ((row.status === to && isTerminal(to)) || isPaidByDead(row)) return row;
      if (BEFORE_ANY_ATTEMPT.includes(to) && (await hasAttempt(trx, id, NOT_DEAD))) {
        const message = `withdrawal ${id} may not become ${to}: an attempt is not dead`;
        throw new DomainError('IllegalTransition', message, { id, to });
      }
      if (UNPAID_ENDS.includes(to)) await refuseInDoubt(trx, id);
      if (to === 'awaiting_confirmation' || isTerminal(to)) await releaseReservations(trx, id);
      return enterStatus(trx, id, to, reason);
    });
  }

  /**
   * Shows how its signed attempt is seen to stand. Does nothing, and answers false, where no attempt is signed any more, the
   * state machine forbids the step, or a dead attempt has paid it: an observation that comes late must not undo a verdict.
   */
  async note(
    id: string,
    to: 'sending' | 'confirmed' | 'held',
    reason: StatusReason | null,
  ): Promise<boolean> {
    return this.#db.transaction().execute(async (trx) => {
      const row = await lockWithdrawal(trx, id);
      if (isPaidByDead(row) || !mayFollow(row.status, to)) return false;
      if (!(await hasAttempt(trx, id, ['signed']))) return false;
      if (row.status !== to || row.reason?.message !== reason?.message)
        await enterStatus(trx, id, to, reason);
      return true;
    });
  }

  /** Records that the customer wants it paid as it is. Throws NotAwaitingConfirmation where nothing waits for that. */
  async confirmDestination(id: string): Promise<WithdrawalRow> {
    return this.#db.transaction().execute(async (trx) => {
      const row = await lockWithdrawal(trx, id);
      if (row.confirmedByCustomer) return row;
      if (row.status !== 'awaiting_confirmation') {
        const message = `withdrawal ${id} does not wait for a confirmation: it is ${row.status}`;
        throw new DomainError('NotAwaitingConfirmation', message, { id, status: row.status });
      }
      const stored = await trx
        .updateTable('withdrawal')
        .set({ confirmedByCustomer: true, updatedAt: sql<Date>`now()` })
        .where('id', '=', id)
        .returningAll()
        .executeTakeFirstOrThrow();
      return toWithdrawalRow(stored);
    });
  }

  /**
   * Cancels for good. Throws NotCancellable once any attempt row exists or the withdrawal has ended otherwise; attempts that died
   * without a signature do not count. Throws RecordInDoubt while an attempt that the record does not know may have paid it.
   */
  async cancel(id: string, reason: StatusReason): Promise<WithdrawalRow> {
    return this.#db.transaction().execute(async (trx) => {
      const row = await lockWithdrawal(trx, id);
      if (row.status === 'cancelled') return row;
      if (!mayFollow(row.status, 'cancelled') || (await isBound(trx, id))) throw notCancellable(row);
      await refuseInDoubt(trx, id);
      await releaseReservations(trx, id);
      return enterStatus(trx, id, 'cancelled', reason);
    });
  }

  /**
   * Ends, on the word of somebody who has looked at the chain, one that an attempt not on record, or a dead one, has paid. Throws
   * NotCancellable where an attempt lives, nothing says that it may be paid, or it has ended otherwise.
   */
  async endAsPaid(id: string, { who, why }: Word): Promise<WithdrawalRow> {
    return this.#db.transaction().execute(async (trx) => {
      const row = await lockWithdrawal(trx, id);
      if (row.status === 'cancelled' && row.reason?.code === PAID_ALREADY) return row;
      const ends = !isTerminal(row.status) && mayFollow(row.status, 'cancelled');
      const doubt = await doubtOf(trx, id);
      if (!ends || doubt === null || (await hasAttempt(trx, id, NOT_DEAD))) throw notEndable(row, doubt);
      await releaseReservations(trx, id);
      const message = `paid already, says ${who}: ${why} (${doubt.message})`;
      return enterStatus(trx, id, 'cancelled', { code: PAID_ALREADY, message });
    });
  }
}

/** What the customer is told to be unpaid must not be paid by what the record has lost. */
async function refuseInDoubt(trx: Transaction<Tables>, id: string): Promise<void> {
  const doubt = await doubtOf(trx, id);
  if (doubt === null) return;
  const message = `withdrawal ${id} may be paid, or be on its way, without being on record: ${doubt.message}`;
  throw new DomainError('RecordInDoubt', message, { id, reason: doubt.code });
}

function notEndable({ id, status }: WithdrawalRow, doubt: StatusReason | null): DomainError {
  const why = doubt === null ? 'nothing says that it may be paid without being on record' : `it is ${status}`;
  return new DomainError('NotCancellable', `withdrawal ${id} cannot be ended as paid: ${why}`, {
    id,
    status,
  });
}

function notCancellable({ id, status }: WithdrawalRow): DomainError {
  const message = `withdrawal ${id} can no longer be cancelled: it is ${status}`;
  return new DomainError('NotCancellable', message, { id, status });
}

/** An attempt binds it: one that is not dead for ever, or a dead one that was signed. */
async function isBound(trx: Transaction<Tables>, id: string): Promise<boolean> {
  if (await hasAttempt(trx, id, NOT_DEAD)) return true;
  const signed = trx.selectFrom('attempt').select('n').where('withdrawalId', '=', id);
  return (await signed.where('signature', 'is not', null).executeTakeFirst()) !== undefined;
}

async function hasAttempt(
  trx: Transaction<Tables>,
  id: string,
  states: readonly Tables['attempt']['state'][],
): Promise<boolean> {
  const query = trx
    .selectFrom('attempt')
    .select('n')
    .where('withdrawalId', '=', id)
    .where('state', 'in', states);
  return (await query.executeTakeFirst()) !== undefined;
}
