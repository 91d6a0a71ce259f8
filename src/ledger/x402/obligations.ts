import { type RawBuilder, sql } from 'kysely';
import { DomainError } from '../../domain/errors.ts';
import { PAYMENT_EVENTS, type PaymentEvent } from '../../domain/payment.ts';
import type { TextCipher } from '../../domain/webhook.ts';
import { type Database, exists, Repository } from '../database.ts';
import { updateOwedAlerts } from './owed-alerts.ts';
import { enterPayment } from './payment-events.ts';

/** A header's value; or the name of the environment variable that has it, so that a secret is not stored. */
export type HeaderValue = string | { readonly env: string };

/** A paid request in the form in which it is sent to the upstream. */
export interface BoughtRequest {
  readonly method: string;
  /** Absolute URL of the upstream. */
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  /** Headers of the route, with names in lower case. They replace those of the client. */
  readonly routeHeaders: Readonly<Record<string, HeaderValue>>;
  /** base64. */
  readonly body: string;
  /** Whether the request may be sent to the upstream twice, for example after a crash during the first call. */
  readonly isRepeatable: boolean;
  /** Time that the upstream has for its response. */
  readonly timeoutMs: number;
}

/** A stored answer of the upstream, which a buyer who repeats the request receives again. */
export interface StoredAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | readonly string[]>>;
  /** base64. */
  readonly body: string;
}

/** Exclusive right of the process `holder` to serve an obligation for `ms` milliseconds. */
export interface Lease {
  readonly holder: string;
  readonly ms: number;
}

/**
 * Requests that buyers have paid for and that are not served yet. An obligation exists while its payment is `owed`.
 * Every step is idempotent:
 *
 * | state | lease | next |
 * |---|---|---|
 * | free | none, or expired | leased, by {@link take} (gateway, workflow) or {@link claim} (facilitator) |
 * | leased | one holder calls the upstream, or delivers the success | free, by {@link release} or expiry; ended |
 * | ended | none | none: the payment is `served`, `refundable` or `unmatched` |
 */
export class Obligations extends Repository {
  readonly #cipher: TextCipher;

  constructor(db: Database, cipher: TextCipher) {
    super(db);
    this.#cipher = cipher;
  }

  /**
   * Leases an owed obligation and returns the request. `again`: the upstream may have been called before. Returns null
   * if another holder has the lease, or if no request is owed.
   */
  async take(
    id: string,
    { holder, ms }: Lease,
  ): Promise<{ readonly request: BoughtRequest; readonly again: boolean } | null> {
    const leased = await this.db
      .updateTable('payment')
      .set({
        leaseHolder: holder,
        leaseUntil: timeAfterMs(ms),
        askedAt: sql<Date>`coalesce(asked_at, now())`,
      })
      .where('id', '=', id)
      .where('state', '=', 'owed')
      .where('request', 'is not', null)
      .where(isFree(holder))
      .returning(['request', sql<boolean>`asked_at <> now()`.as('again')])
      .executeTakeFirst();
    if (leased === undefined || leased.request === null) return null;
    return { request: this.#decrypt<BoughtRequest>(leased.request, id), again: leased.again };
  }

  /** The request of an obligation; null if its payment has no request, or no longer. */
  requestOf(id: string): Promise<BoughtRequest | null> {
    return this.#decryptedColumn<BoughtRequest>(id, 'request');
  }

  /** Ends the lease of an obligation that is not served, so that another process can take it at once. */
  async release(id: string, holder: string): Promise<void> {
    await this.db
      .updateTable('payment')
      .set(NO_LEASE)
      .where('id', '=', id)
      .where('leaseHolder', '=', holder)
      .execute();
  }

  /** Ends the obligation after the upstream has answered 2xx. `answer`: null if it is too large to store. */
  markServed(id: string, status: number, answer: StoredAnswer | null): Promise<void> {
    return this.#end(id, 'served', {
      answerStatus: status,
      servedAt: NOW,
      ...this.#answerColumns(id, answer),
    });
  }

  /** Ends the obligation without a resource, because the upstream has refused it or must not be called again. */
  markRefused(id: string, reason: string, answer: StoredAnswer | null): Promise<void> {
    const answerStatus = answer?.status ?? null;
    return this.#end(id, 'refused', { reason, answerStatus, ...this.#answerColumns(id, answer) });
  }

  /** Ends the obligation because `received` is less than the terms require, both in base units. */
  markShort(id: string, received: bigint, reason: string): Promise<void> {
    return this.#end(id, 'short', { reason, received, answer: null });
  }

  /**
   * Leases the success of a facilitator payment to one caller; returns true if the caller may receive it. `key`: hash
   * of the caller's Idempotency-Key. Callers with the key of the newest claim receive the success any number of times.
   * Claims end as {@link FETCH_WITHIN_MS} says: later callers can have copied the transaction from the chain.
   */
  async claim(id: string, key: string | null, { holder, ms }: Lease): Promise<boolean> {
    const claimedRow = await this.db
      .updateTable('payment')
      .set({ claim: key, leaseHolder: holder, leaseUntil: timeAfterMs(ms) })
      .where('id', '=', id)
      .where('seller', '=', 'facilitator')
      .where('state', '=', 'owed')
      .where((row) => row.or([isFree(holder), ...(key === null ? [] : [row('claim', '=', key)])]))
      .where(sql<boolean>`coalesce(not ${isUnfetched(sql`claim = ${key}`)}, true)`)
      .returning('id')
      .executeTakeFirst();
    if (claimedRow !== undefined || key === null) return claimedRow !== undefined;
    return exists(
      this.db
        .selectFrom('payment')
        .select('id')
        .where('id', '=', id)
        .where('seller', '=', 'facilitator')
        .where('state', '=', 'served')
        .where('claim', '=', key),
    );
  }

  /** Ends the obligations whose success no caller can claim any more. Returns how many there were. */
  async endUnfetched(): Promise<bigint> {
    const { from, to } = PAYMENT_EVENTS.unfetched;
    const { numUpdatedRows } = await this.db
      .updateTable('payment')
      .set({ ...NO_LEASE, state: to, reason: 'no caller of the facilitator has fetched the success in time' })
      .where('state', 'in', from)
      .where('seller', '=', 'facilitator')
      .where(isFree(''))
      .where(isUnfetched(sql`claim is not null`))
      .executeTakeFirst();
    return numUpdatedRows;
  }

  /** See {@link updateOwedAlerts}. */
  updateOwedAlerts(): Promise<void> {
    return updateOwedAlerts(this.db);
  }

  /** Stores the answer of an upstream that was called before settlement; the buyer receives it after the payment. */
  async storeAnswer(id: string, answer: StoredAnswer): Promise<void> {
    await this.db
      .updateTable('payment')
      .set({ ...this.#answerColumns(id, answer), answerStatus: answer.status })
      .where('id', '=', id)
      .where('state', 'in', ['settling', 'owed'])
      .execute();
  }

  /**
   * Permits one more call of the upstream for an answer that was too large to store. False after three, or ten minutes
   * after the end of the last delivery.
   */
  async takeRepeat(id: string): Promise<boolean> {
    const counted = await this.#unstored(id)
      .set({ answerRepeats: sql<number>`answer_repeats + 1` })
      .where('answerRepeats', '<', MAX_REPEATS)
      .where(IS_REPEATABLE_NOW)
      .returning('id')
      .executeTakeFirst();
    return counted !== undefined;
  }

  /** Gives back a call that {@link takeRepeat} permitted, because the upstream gave no answer. */
  async returnRepeat(id: string): Promise<void> {
    await this.#unstored(id)
      .set({ answerRepeats: sql<number>`answer_repeats - 1` })
      .where('answerRepeats', '>', 0)
      .execute();
  }

  /** Notes that the delivery of an answer that is not stored has ended, completely or not. */
  async noteDelivered(id: string): Promise<void> {
    await this.#unstored(id).set({ servedAt: NOW }).execute();
  }

  /** The served payment, if its answer is not stored. */
  #unstored(id: string) {
    return this.db
      .updateTable('payment')
      .where('id', '=', id)
      .where('state', '=', 'served')
      .where('answer', 'is', null);
  }

  /** The stored answer; null if there is none. */
  answerOf(id: string): Promise<StoredAnswer | null> {
    return this.#decryptedColumn<StoredAnswer>(id, 'answer');
  }

  /**
   * No effect on an obligation that has ended. Throws NotFound if the payment does not exist, for example after a failover
   * to a standby without its row: the resource must not be delivered without a stored payment.
   */
  async #end(id: string, event: PaymentEvent, changes: Parameters<typeof enterPayment>[3]): Promise<void> {
    if (await enterPayment(this.db, id, event, { ...changes, ...NO_LEASE, request: null })) return;
    if (await exists(this.db.selectFrom('payment').select('id').where('id', '=', id))) return;
    throw new DomainError('NotFound', `there is no payment ${id}`, { id });
  }

  #answerColumns(id: string, answer: StoredAnswer | null) {
    return answer === null ? {} : { answer: this.#cipher.encrypt(JSON.stringify(answer), id) };
  }

  async #decryptedColumn<T>(id: string, column: 'request' | 'answer'): Promise<T | null> {
    const stored = await this.db
      .selectFrom('payment')
      .select(`${column} as encrypted`)
      .where('id', '=', id)
      .executeTakeFirst();
    const encrypted = stored?.encrypted ?? null;
    return encrypted === null ? null : this.#decrypt<T>(encrypted, id);
  }

  #decrypt<T>(encrypted: string, id: string): T {
    return JSON.parse(this.#cipher.decrypt(encrypted, id)) as T;
  }
}

const NOW = sql<Date>`now()`;
const NO_LEASE = { leaseHolder: null, leaseUntil: null };

/** SQL that is true if no other holder has a valid lease. */
export function isFree(holder: string) {
  return sql<boolean>`(lease_holder is null or lease_holder = ${holder} or lease_until < now())`;
}

/**
 * How long after the payment a caller of the facilitator can claim its success: with the Idempotency-Key of the newest
 * claim, or of the call that opened the payment; and any other caller.
 */
export const FETCH_WITHIN_MS = { sameKey: 86_400_000, anyCaller: 600_000 } as const;

/** SQL that is true if the success can no longer be claimed; null if the payment is not paid. */
function isUnfetched(isSameKey: RawBuilder<unknown>) {
  const { sameKey, anyCaller } = FETCH_WITHIN_MS;
  return sql<boolean>`(paid_at < now() - (case when ${isSameKey} then ${sameKey} else ${anyCaller} end)::integer
    * interval '1 millisecond')`;
}

/** A payment buys one answer: repetitions only replace deliveries that were cut. */
const MAX_REPEATS = 3;
const IS_REPEATABLE_NOW = sql<boolean>`served_at >= now() - interval '10 minutes'`;

/** SQL for the time `ms` milliseconds from now, by the clock of the database. */
export function timeAfterMs(ms: number) {
  return sql<Date>`now() + ${ms} * interval '1 millisecond'`;
}
