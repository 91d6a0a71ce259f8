import { createHash } from 'node:crypto';
import { sql } from 'kysely';
import { type Database, Repository } from '../database.ts';
import type { OfferedTerms } from './payment-row.ts';

export type { OfferedTerms } from './payment-row.ts';

/** Payments that were served and never paid, and whose alert no operator has acknowledged. */
export function servedUnpaid(db: Database) {
  const alerted = db
    .selectFrom('alert')
    .select('subject')
    .where('kind', '=', 'confirmed_taken_back')
    .where('closedAt', 'is', null);
  return db
    .selectFrom('payment')
    .where('id', '=', sql<string>`any(array(${alerted}))`)
    .where('state', '=', 'served')
    .where(
      sql<boolean>`(select status from settlement where settlement.id = payment.id) in ('dead', 'failed')`,
    );
}

/** Offered terms by route. An offer stays valid for a set time after the gateway last offered it. */
export class Offers extends Repository {
  /**
   * Records that this process offers these terms now. Must be repeated at intervals shorter than the offers' validity.
   */
  async offer(route: string, terms: OfferedTerms): Promise<void> {
    const json = JSON.stringify(terms);
    const hash = createHash('sha256').update(json).digest('hex');
    await this.db
      .insertInto('offer')
      .values({ route, hash, terms: json })
      .onConflict((conflict) =>
        conflict.columns(['route', 'hash']).doUpdateSet({ lastOfferedAt: sql<Date>`now()` }),
      )
      .execute();
  }

  /**
   * Id of a payment of this route that was served and never paid, and whose alert `confirmed_taken_back` no operator has
   * acknowledged; null if there is none.
   */
  async findServedUnpaid(route: string): Promise<string | null> {
    const payment = await servedUnpaid(this.db)
      .select('id')
      .where('route', '=', route)
      .limit(1)
      .executeTakeFirst();
    return payment?.id ?? null;
  }

  /** Terms that any process has offered on this route within the last `validMs` milliseconds, newest first. */
  async valid(route: string, validMs: number): Promise<readonly OfferedTerms[]> {
    const rows = await this.db
      .selectFrom('offer')
      .select('terms')
      .where('route', '=', route)
      .where('lastOfferedAt', '>', sql<Date>`now() - ${validMs} * interval '1 millisecond'`)
      .orderBy('lastOfferedAt', 'desc')
      .execute();
    return rows.map(({ terms }) => terms);
  }
}
