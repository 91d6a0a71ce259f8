import { sql } from 'kysely';
import type { PaymentEvent } from '../../domain/payment.ts';
import type { Seal } from '../../domain/webhook.ts';
import { type Database, exists, Repository } from '../database.ts';
import { enterPayment } from './payment-events.ts';

/** A bought request, as it is sent to the upstream. */
export interface BoughtRequest {
  readonly method: string;
  /** Absolute URL of the upstream. */
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  /** base64. */
  readonly body: string;
  /** Whether the upstream may receive it twice, as after a crash during the first call. */
  readonly isRepeatable: boolean;
}

/** An answer of the upstream that is given again. */
export interface StoredAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | readonly string[]>>;
  /** base64. */
  readonly body: string;
}

/** The process that serves an obligation, and for how many milliseconds no other may. */
export interface Lease {
  readonly holder: string;
  readonly ms: number;
}

/**
 * What buyers have paid for and have not received yet. Every step is idempotent. An obligation exists while its payment
 * is `owed`:
 *
 * | state | lease | next |
 * |---|---|---|
 * | free | none, or it is over | leased, by {@link take} (gateway, workflow) or {@link claim} (facilitator) |
 * | leased | one holder calls the upstream, or delivers the success | free, by {@link release} or by time; ended |
 * | ended | none | none: the payment is `served`, `refundable` or `unmatched` |
 */
export class Obligations extends Repository {
  readonly #seal: Seal;

  constructor(db: Database, seal: Seal) {
    super(db);
    this.#seal = seal;
  }

  /**
   * Leases an owed obligation, unless another holder has its lease, and returns the request. `again`: the upstream
   * may have been called before. Null if it is not to be served now.
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
    return { request: this.#decrypted<BoughtRequest>(leased.request, id), again: leased.again };
  }

  /** Returns an obligation that was leased and not served, so that another process may try at once. */
  async release(id: string, holder: string): Promise<void> {
    await this.db
      .updateTable('payment')
      .set(NO_LEASE)
      .where('id', '=', id)
      .where('leaseHolder', '=', holder)
      .execute();
  }

  /** Ends the obligation: the upstream has answered 2xx or 3xx. `answer` is null if it is too large to keep. */
  markServed(id: string, status: number, answer: StoredAnswer | null): Promise<void> {
    return this.#end(id, 'served', {
      answerStatus: status,
      servedAt: NOW,
      ...this.#answerColumns(id, answer),
    });
  }

  /** Ends the obligation without a resource: the upstream has answered 4xx, or may not be called again. */
  markRefused(id: string, reason: string, answer: StoredAnswer | null): Promise<void> {
    const answerStatus = answer?.status ?? null;
    return this.#end(id, 'refused', { reason, answerStatus, ...this.#answerColumns(id, answer) });
  }

  /** Ends the obligation: less arrived than the terms require. */
  markShort(id: string, received: bigint, reason: string): Promise<void> {
    return this.#end(id, 'short', { reason, received });
  }

  /**
   * Gives the success of a facilitator payment to one caller, for the time of the lease: true if it is this caller's.
   * `key` is the hash of the caller's Idempotency-Key. A caller with the same key receives the success any number of
   * times; a new claim replaces the key, so that an earlier caller receives no second success. Without a key it is given
   * for ten minutes after the payment: later callers may have the bytes from the chain.
   */
  async claim(id: string, key: string | null, { holder, ms }: Lease): Promise<boolean> {
    const claimed = await this.db
      .updateTable('payment')
      .set({ claim: key, leaseHolder: holder, leaseUntil: timeAfterMs(ms) })
      .where('id', '=', id)
      .where('seller', '=', 'facilitator')
      .where('state', '=', 'owed')
      .where((row) => row.or([isFree(holder), ...(key === null ? [] : [row('claim', '=', key)])]))
      .$if(key === null, (claim) => claim.where(IS_RECENT))
      .returning('id')
      .executeTakeFirst();
    if (claimed !== undefined || key === null) return claimed !== undefined;
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

  /** Keeps the answer of an upstream that was called before settlement, for the buyer once it is paid. */
  async storeAnswer(id: string, answer: StoredAnswer): Promise<void> {
    await this.db
      .updateTable('payment')
      .set({ ...this.#answerColumns(id, answer), answerStatus: answer.status })
      .where('id', '=', id)
      .where('state', 'in', ['settling', 'owed'])
      .execute();
  }

  async answerOf(id: string): Promise<StoredAnswer | null> {
    const stored = await this.db
      .selectFrom('payment')
      .select('answer')
      .where('id', '=', id)
      .executeTakeFirst();
    const sealed = stored?.answer ?? null;
    return sealed === null ? null : this.#decrypted<StoredAnswer>(sealed, id);
  }

  #end(id: string, event: PaymentEvent, changes: Parameters<typeof enterPayment>[3]): Promise<void> {
    return enterPayment(this.db, id, event, { ...changes, ...NO_LEASE, request: null });
  }

  #answerColumns(id: string, answer: StoredAnswer | null) {
    return answer === null ? {} : { answer: this.#seal.seal(JSON.stringify(answer), id) };
  }

  #decrypted<T>(sealed: string, id: string): T {
    return JSON.parse(this.#seal.open(sealed, id)) as T;
  }
}

const NOW = sql<Date>`now()`;
const NO_LEASE = { leaseHolder: null, leaseUntil: null };

/** No other holder has the lease. */
function isFree(holder: string) {
  return sql<boolean>`(lease_holder is null or lease_holder = ${holder} or lease_until < now())`;
}

const IS_RECENT = sql<boolean>`coalesce(paid_at >= now() - interval '10 minutes', true)`;

/** The time in `ms` milliseconds, by the clock of the database. */
export function timeAfterMs(ms: number) {
  return sql<Date>`now() + ${ms} * interval '1 millisecond'`;
}
