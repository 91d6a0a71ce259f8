import { sql } from 'kysely';
import type { Alarm } from '../../domain/alerts.ts';
import type { Database } from '../database.ts';

/** A worker without a report for this long is gone; its view is deleted. */
const FORGOTTEN_AFTER_SECONDS = 180;

/** Problems of nodes as each worker sees them: a node may be unreachable from one worker only. */
export class NodeViews {
  readonly #db: Database;

  constructor(db: Database) {
    this.#db = db;
  }

  async put(worker: string, alarms: readonly Alarm[]): Promise<void> {
    const values = { worker, alarms: JSON.stringify(alarms), seenAt: sql<Date>`now()` };
    await this.#db
      .insertInto('nodeView')
      .values(values)
      .onConflict((conflict) => conflict.column('worker').doUpdateSet(values))
      .execute();
  }

  /** The newest alert of each kind and subject. Deletes the views of workers that stopped reporting. */
  async together(): Promise<readonly Alarm[]> {
    await this.#db
      .deleteFrom('nodeView')
      .where('seenAt', '<', sql<Date>`now() - make_interval(secs => ${FORGOTTEN_AFTER_SECONDS})`)
      .execute();
    const views = await this.#db.selectFrom('nodeView').select('alarms').orderBy('seenAt').execute();
    const alarms = views.flatMap((view) => view.alarms);
    return [...new Map(alarms.map((alarm) => [`${alarm.kind} ${alarm.subject}`, alarm])).values()];
  }
}
