import { sql } from 'kysely';
import { DomainError } from '../../domain/errors.ts';
import { UNFINISHED } from '../../domain/settlement.ts';
import type { TextCipher } from '../../domain/webhook.ts';
import { isUniqueViolation } from '../connection.ts';
import { anyOf, type Database, Repository } from '../database.ts';
import { Groups } from '../groups.ts';
import type { Page } from '../page.ts';
import type { NewAttempt } from '../settlements/attempts.ts';
import { type Lease, timeAfterMs } from './obligations.ts';
import { type OwedBuyer, type OwedPayment, readOwed } from './owed-payments.ts';
import { listPayments, type PaymentFilter } from './payment-list.ts';
import {
  insertReplaced,
  insertUnmatched,
  type NewPayment,
  openSignedPayment,
  openUnsignedPayment,
  type ReplacedPayment,
  type SignedOpening,
  type UnmatchedPayment,
} from './payment-opening.ts';
import { type PaymentRow, toPaymentRow } from './payment-row.ts';
import { type RevenueRequest, type RevenueRow, readRevenue } from './revenue.ts';

export type { BoughtRequest, StoredAnswer } from './obligations.ts';
export type { OwedPayment } from './owed-payments.ts';
export type { NewPayment, ReplacedPayment, SignedOpening, UnmatchedPayment } from './payment-opening.ts';
export type { Caller, PaymentRow, PaymentTerms } from './payment-row.ts';

/** `known`: the payment was already stored. `identifier-taken`: the payer has used the payment identifier before. */
export type OpenResult =
  | { readonly kind: 'opened' | 'known'; readonly payment: PaymentRow }
  | { readonly kind: 'identifier-taken' };

/** x402 payments. Every step is idempotent. Reads that many buyers cause at the same time are one statement. */
export class Payments extends Repository {
  readonly #cipher: TextCipher;
  readonly #found = new Groups((ids: readonly string[]) => this.#byId(ids));
  readonly #owed = new Groups((buyers: readonly OwedBuyer[]) => readOwed(this.db, buyers));

  constructor(db: Database, cipher: TextCipher) {
    super(db);
    this.#cipher = cipher;
  }

  /** Stores a payment and its settlement, so that workers settle it and serve the buyer even if this process stops. */
  async open(input: NewPayment): Promise<OpenResult> {
    try {
      const opened = await openUnsignedPayment(this.db, this.#cipher, input);
      if (opened !== undefined) return { kind: 'opened', payment: toPaymentRow(opened) };
    } catch (error) {
      if (isUniqueViolation(error, 'payment_identifier_once')) return { kind: 'identifier-taken' };
      throw error;
    }
    return { kind: 'known', payment: await this.get(input.id) };
  }

  /** See {@link readOwed}. */
  listOwed(payer: string, requestHash: string): Promise<readonly OwedPayment[]> {
    return this.#owed.add({ payer, requestHash });
  }

  /** Stores a payment that is never settled, and leases the owed payment that is served in its place. */
  async replace(
    input: ReplacedPayment,
    owedId: string,
    lease: Lease,
  ): Promise<'replaced' | 'known' | 'lost' | 'identifier-taken'> {
    try {
      return await insertReplaced(this.db, input, owedId, lease);
    } catch (error) {
      if (isUniqueViolation(error, 'payment_identifier_once')) return 'identifier-taken';
      throw error;
    }
  }

  /**
   * Stores a payment, its settlement and its first attempt, which this process has signed, in one transaction. No node
   * may get the attempt unless this returns `opened`. A pause that begins meanwhile waits for the end of the
   * transaction.
   */
  async openSigned(input: NewPayment, attempt: NewAttempt): Promise<SignedOpening> {
    try {
      return await this.db
        .transaction()
        .execute((trx) => openSignedPayment(trx, this.#cipher, input, attempt));
    } catch (error) {
      if (isUniqueViolation(error, 'payment_identifier_once')) return { kind: 'taken' };
      throw error;
    }
  }

  /**
   * Stores a payment that buys no request, so that operators can list it. Returns the stored row, which can be older.
   */
  async storeUnmatched(input: UnmatchedPayment): Promise<PaymentRow> {
    await insertUnmatched(this.db, input);
    return this.get(input.id);
  }

  find(id: string): Promise<PaymentRow | undefined> {
    return this.#found.add(id);
  }

  /** Throws NotFound. */
  async get(id: string): Promise<PaymentRow> {
    const row = await this.find(id);
    if (row !== undefined) return row;
    throw new DomainError('NotFound', `there is no payment ${id}`, { id });
  }

  /** What decides the amount that each of these payments has received. Missing ids are left out. */
  async listByIds(ids: readonly string[]): Promise<readonly Pick<PaymentRow, 'id' | 'wire' | 'terms'>[]> {
    return this.db
      .selectFrom('payment')
      .select(['id', 'wire', 'terms'])
      .where('id', '=', anyOf(ids))
      .execute();
  }

  /** Finds a payment by its id, the hash of its message (hex), or the signature of its transaction (base58). */
  async findByName(name: string): Promise<PaymentRow | undefined> {
    // Each part of the union uses an index. An `or` over two tables would read all payments.
    const ids = this.db
      .selectNoFrom(sql<string>`${name}::text`.as('id'))
      .unionAll(this.db.selectFrom('payment').select('id').where('signature', '=', name))
      .unionAll(this.db.selectFrom('attempt').select('settlementId as id').where('signature', '=', name))
      .unionAll(this.db.selectFrom('attempt').select('settlementId as id').where('messageHash', '=', name));
    const named = this.#all().where('id', '=', sql<string>`any(array(${ids}))`).limit(1);
    const stored = await named.executeTakeFirst();
    return stored === undefined ? undefined : toPaymentRow(stored);
  }

  /** Up to `limit` paid requests that the gateway has not served within `olderMs` milliseconds, oldest first. */
  async listOverdue(olderMs: number, limit: number): Promise<readonly PaymentRow[]> {
    const rows = await this.#all()
      .where('state', '=', 'owed')
      .where('seller', '=', 'gateway')
      .where('paidAt', '<', sql<Date>`now() - ${olderMs} * interval '1 millisecond'`)
      .orderBy('createdAt')
      .orderBy('position')
      .limit(limit)
      .execute();
    return rows.map(toPaymentRow);
  }

  /**
   * Ids of the payments of this age, in ms by the clock of the database, that are sent but not final, or whose buyer the
   * gateway has not served; oldest first.
   */
  async listLate(fromAgeMs: number, toAgeMs: number): Promise<readonly string[]> {
    const rows = await this.db
      .selectFrom('payment')
      .innerJoin('settlement', 'settlement.id', 'payment.id')
      .select('payment.id')
      .where('payment.createdAt', '<=', timeAfterMs(-fromAgeMs))
      .where('payment.createdAt', '>', timeAfterMs(-toAgeMs))
      .where((row) =>
        row.or([
          row('settlement.status', 'in', UNENDED_ONCE_SENT),
          row.and([row('payment.state', '=', 'owed'), row('payment.seller', '=', 'gateway')]),
        ]),
      )
      .orderBy('payment.createdAt')
      .execute();
    return rows.map(({ id }) => id);
  }

  /** Lists payments, newest first. Throws InvalidRequest for a cursor that is not from an earlier page. */
  list(filter: PaymentFilter): Promise<Page<PaymentRow>> {
    return listPayments(this.db, filter);
  }

  /** See {@link readRevenue}. */
  revenue(request: RevenueRequest): Promise<readonly RevenueRow[]> {
    return readRevenue(this.db, request);
  }

  /**
   * Deletes request, response and transaction of a batch of ended payments older than `days`, and returns their number.
   * Payments whose settlement has not ended keep them. The message of a settled payment stays in its attempt.
   */
  async deleteOldData(days: number): Promise<bigint> {
    const oldPayments = this.db
      .selectFrom('payment')
      .select('payment.id')
      .where(HAS_ENDED)
      .where('payment.wire', 'is not', null)
      .where('payment.createdAt', '<', sql<Date>`now() - make_interval(days => ${days})`)
      // A scalar subquery is one lookup by key for each payment; a join could read all unfinished settlements.
      .where(
        sql<boolean>`coalesce((select status from settlement where settlement.id = payment.id), '')
          <> all (${UNFINISHED}::text[])`,
      )
      .orderBy('payment.createdAt')
      .limit(MAX_DELETED_AT_ONCE)
      .forUpdate('payment')
      .skipLocked();
    const { numUpdatedRows } = await this.db
      .updateTable('payment')
      .set({ request: null, answer: null, wire: null })
      .where('id', 'in', oldPayments)
      .executeTakeFirst();
    return numUpdatedRows;
  }

  async #byId(ids: readonly string[]): Promise<(id: string) => PaymentRow | undefined> {
    const rows = await this.#all().where('id', '=', anyOf(ids)).execute();
    const payments = new Map(rows.map((row) => [row.id, toPaymentRow(row)]));
    return (id) => payments.get(id);
  }

  #all() {
    return this.db.selectFrom('payment').selectAll();
  }
}

/** A payment that is held and not sent has a workflow. */
const UNENDED_ONCE_SENT = ['sending', 'confirmed', 'held'] as const;
const MAX_DELETED_AT_ONCE = 200;

/** Literal states, so that PostgreSQL can use the index of stored data. */
const HAS_ENDED = sql<boolean>`payment.state in ('served', 'refundable', 'unmatched', 'void')`;
