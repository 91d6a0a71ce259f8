import { sql } from 'kysely';
import { type PaymentCount, UNSERVED_STATES } from '../../domain/payment.ts';
import { COUNT, Repository } from '../database.ts';
import { servedUnpaid } from './offers.ts';

/** Numbers of payments, for metrics. */
export class PaymentCounts extends Repository {
  /** `unpaid`: payments that were served and never paid, until an operator acknowledges the alert of each. */
  async read(): Promise<{ readonly unfinished: readonly PaymentCount[]; readonly unpaid: number }> {
    const since = sql`min(coalesce(paid_at, created_at))`;
    const unfinished = await this.db
      .selectFrom('payment')
      .select(['seller', 'state', COUNT.as('count')])
      .select(sql<number>`extract(epoch from now() - ${since})::float8`.as('oldestSeconds'))
      .where('state', 'in', UNSERVED_STATES)
      .groupBy(['seller', 'state'])
      .$narrowType<Pick<PaymentCount, 'state'>>()
      .execute();
    const unpaid = await servedUnpaid(this.db).select(COUNT.as('count')).executeTakeFirstOrThrow();
    return { unfinished, unpaid: unpaid.count };
  }
}
