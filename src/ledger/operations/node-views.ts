import { sql } from 'kysely';
import type { Alarm } from '../../domain/alerts.ts';
import type { Database } from '../database.ts';

/** A worker that has said nothing for so long is gone, and what it saw with it. */
const FORGOTTEN_AFTER_SECONDS = 180;

/** What is wrong with the nodes as each worker sees it: a node may be out of reach of one, and in reach of the other. */
export class NodeViews {
  readonly #db: Database;

  constructor(db: Database) {
    this.#db = db;
  }

  /** Replaces what this worker saw before. */
  async put(worker: string, alarms: readonly Alarm[]): Promise<void> {
    const values = { worker, alarms: JSON.stringify(alarms), seenAt: sql<Date>`now()` };
    await this.#db
      .insertInto('nodeView')
      .values(values)
      .onConflict((conflict) => conflict.column('worker').doUpdateSet(values))
      .execute();
  }

  /** What all workers see that still speak, those that spoke last first; one of each kind and subject. Forgets the others. */
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
