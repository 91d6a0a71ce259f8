import { type SelectQueryBuilder, sql } from 'kysely';
import { DomainError } from '../../domain/errors.ts';
import type { TextCipher } from '../../domain/webhook.ts';
import { isUniqueViolation } from '../connection.ts';
import { type Database, Repository, type Tables } from '../database.ts';
import { mapPage, negationOf, type Page, type PageRequest, positionBefore, readPage } from '../page.ts';
import { insertUnmatched, type NewPayment, openPayment, type UnmatchedPayment } from './payment-opening.ts';
import { type PaymentRow, type StoredPayment, toPaymentRow } from './payment-row.ts';

export type { BoughtRequest, StoredAnswer } from './obligations.ts';
export type { NewPayment, UnmatchedPayment } from './payment-opening.ts';
export type { Caller, PaymentRow, PaymentTerms } from './payment-row.ts';

/**
 * `known`: the payment was already stored. `busy`: the payer has another payment for the same request, which is not
 * final or not served yet. `identifier-taken`: the payer has used the payment identifier for another payment.
 */
export type OpenResult =
  | { readonly kind: 'opened' | 'known' | 'busy'; readonly payment: PaymentRow }
  | { readonly kind: 'identifier-taken' };

/** x402 payments. Every step is idempotent. */
export class Payments extends Repository {
  readonly #cipher: TextCipher;

  constructor(db: Database, cipher: TextCipher) {
    super(db);
    this.#cipher = cipher;
  }

  /** Stores a payment and its settlement, so that workers settle it and serve the buyer even if this process stops. */
  async open(input: NewPayment): Promise<OpenResult> {
    try {
      const opened = await openPayment(this.db, this.#cipher, input);
      if (opened !== undefined) return { kind: 'opened', payment: toPaymentRow(opened) };
    } catch (error) {
      if (isUniqueViolation(error, 'payment_identifier_once')) return { kind: 'identifier-taken' };
      if (!isUniqueViolation(error, 'payment_one_open')) throw error;
    }
    const known = await this.find(input.id);
    if (known !== undefined) return { kind: 'known', payment: known };
    const other = await this.#findOpen(input);
    if (other !== undefined) return { kind: 'busy', payment: other };
    const message =
      'another payment for this request has just ended: send the request with the same payment again';
    throw new DomainError('Unavailable', message);
  }

  /**
   * Stores a payment that buys no request, so that operators can list it. Returns the stored row, which can be older.
   */
  async storeUnmatched(input: UnmatchedPayment): Promise<PaymentRow> {
    await insertUnmatched(this.db, input);
    return this.get(input.id);
  }

  find(id: string): Promise<PaymentRow | undefined> {
    return firstRow(this.#all().where('id', '=', id));
  }

  /** Throws NotFound. */
  async get(id: string): Promise<PaymentRow> {
    const row = await this.find(id);
    if (row !== undefined) return row;
    throw new DomainError('NotFound', `there is no payment ${id}`, { id });
  }

  /** Finds a payment by its id, the hash of its message (hex), or the signature of its transaction (base58). */
  findByName(name: string): Promise<PaymentRow | undefined> {
    // Each part of the union uses an index. An `or` over two tables would read all payments.
    const ids = this.db
      .selectNoFrom(sql<string>`${name}::text`.as('id'))
      .unionAll(this.db.selectFrom('payment').select('id').where('signature', '=', name))
      .unionAll(this.db.selectFrom('attempt').select('settlementId as id').where('signature', '=', name))
      .unionAll(this.db.selectFrom('attempt').select('settlementId as id').where('messageHash', '=', name));
    return firstRow(this.#all().where('id', '=', sql<string>`any(array(${ids}))`).limit(1));
  }

  /** Up to `limit` paid requests that the gateway has not served within `olderMs` milliseconds, oldest first. */
  async listOverdue(olderMs: number, limit: number): Promise<readonly PaymentRow[]> {
    const rows = await this.#all()
      .where('state', '=', 'owed')
      .where('seller', '=', 'gateway')
      .where('paidAt', '<', sql<Date>`now() - ${olderMs} * interval '1 millisecond'`)
      .orderBy(negationOf('position'), 'desc')
      .limit(limit)
      .execute();
    return rows.map(toPaymentRow);
  }

  /** Lists payments, newest first; of all states if `state` is not set. */
  async list(
    page: PageRequest & { readonly state?: PaymentRow['state'] | undefined },
  ): Promise<Page<PaymentRow>> {
    const { state } = page;
    const before = positionBefore(page);
    const newest =
      state === undefined
        ? this.#all().where('position', '<', before).orderBy('position', 'desc')
        : this.#all()
            .where('state', '=', state)
            .where(negationOf('position'), '>', -before)
            .orderBy(negationOf('position'));
    return mapPage(await readPage(newest, page), toPaymentRow);
  }

  #findOpen({ payer, requestHash }: NewPayment): Promise<PaymentRow | undefined> {
    return firstRow(
      this.#all()
        .where('payer', '=', payer)
        .where('requestHash', '=', requestHash)
        .where('state', 'in', ['settling', 'owed']),
    );
  }

  #all() {
    return this.db.selectFrom('payment').selectAll();
  }
}

async function firstRow(query: SelectQueryBuilder<Tables, 'payment', StoredPayment>) {
  const stored = await query.executeTakeFirst();
  return stored === undefined ? undefined : toPaymentRow(stored);
}
