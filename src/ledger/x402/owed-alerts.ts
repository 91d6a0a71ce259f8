import { sql } from 'kysely';
import type { Alarm } from '../../domain/alerts.ts';
import { COUNT, type Database } from '../database.ts';
import { syncOpenAlerts } from '../operations/alerts.ts';

const ALERT_KIND = 'payment_owed';
const OVERDUE = sql<Date>`now() - interval '1 minute'`;

/**
 * Raises `payment_owed` for each route with requests that the gateway has not served a minute after their payment, and
 * closes the alerts of all other routes. The facilitator ends its own owed payments: see `Obligations.endUnfetched`.
 */
export async function updateOwedAlerts(db: Database): Promise<void> {
  await db.transaction().execute(async (trx) => {
    const rows = await trx
      .selectFrom('payment')
      .select(['route', COUNT.as('payments'), sql<Date>`min(paid_at)`.as('since')])
      .select(sql<string>`(array_agg(id order by paid_at))[1]`.as('oldest'))
      .where('state', '=', 'owed')
      .where('seller', '=', 'gateway')
      .where('paidAt', '<', OVERDUE)
      .groupBy('route')
      .execute();
    await syncOpenAlerts(trx, [ALERT_KIND], rows.map(alarmOf));
  });
}

interface OverdueRoute {
  readonly route: string;
  readonly payments: number;
  readonly since: Date;
  readonly oldest: string;
}

function alarmOf({ route, payments, since, oldest }: OverdueRoute): Alarm {
  const at = since.toISOString();
  const message = `${payments} paid requests of route ${route} are not served, the oldest since ${at}: ${oldest}`;
  return { kind: ALERT_KIND, subject: route, message, details: { payments, since: at, oldest } };
}
