import { createHash } from 'node:crypto';
import { sql } from 'kysely';
import { Repository } from '../database.ts';
import type { OfferedTerms } from './payment-row.ts';

export type { OfferedTerms } from './payment-row.ts';

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
