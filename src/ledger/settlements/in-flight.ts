import { sql } from 'kysely';
import type { Ends, Unsent } from '../../domain/backpressure.ts';
import type { AttemptState, Database } from '../database.ts';

const ENDED: readonly AttemptState[] = ['landed', 'failed', 'dead'];

/** When the newest of a kind was prepared that has been signed. Those that died unsigned are not read: after a stall they are many. */
const newestSigned = (kind: string) => sql<Date>`coalesce(
  (select created_at from attempt where signature is not null and state <> 'prepared' and kind = ${kind}
    order by created_at desc limit 1),
  '-infinity')`;

/** What is on its way and what has become of the newest, by which the preparations of each kind keep their pace. */
export class Traffic {
  readonly #db: Database;

  constructor(db: Database) {
    this.#db = db;
  }

  /**
   * How many of a limited life are prepared and not on their way: `living` above block height `height`, and `overdue` ones, of which the
   * life is over and no later one has been signed. What the signer passed over, or refused, holds up nobody.
   */
  async unsent(kind: string, height: bigint): Promise<Unsent> {
    const { living, overdue } = await this.#db
      .selectFrom('attempt')
      .select(({ fn }) => [
        fn.countAll<bigint>().filterWhere('attempt.lastValidBlockHeight', '>', height).as('living'),
        fn
          .countAll<bigint>()
          .filterWhere('attempt.lastValidBlockHeight', '<=', height)
          .filterWhere('attempt.createdAt', '>', newestSigned(kind))
          .as('overdue'),
      ])
      .where('attempt.state', '=', 'prepared')
      .where('attempt.kind', '=', kind)
      // By id for each attempt. For a join, the planner compares each attempt with each settlement that is preparing where its
      // statistics are from a quiet moment.
      .where(
        (row) =>
          row
            .selectFrom('settlement')
            .select('status')
            .whereRef('settlement.id', '=', 'attempt.settlementId'),
        '=',
        'preparing',
      )
      .executeTakeFirstOrThrow();
    return { living: Number(living), overdue: Number(overdue) };
  }

  /** Of the newest `count` that have ended, how many died; as many as there are count. */
  async newestEnds(kind: string, count: number): Promise<Ends> {
    const newest = await this.#db
      .selectFrom('attempt')
      .select('state')
      .where('state', 'in', ENDED)
      .where('kind', '=', kind)
      .orderBy('createdAt', 'desc')
      .limit(count)
      .execute();
    return { ended: newest.length, dead: newest.filter(({ state }) => state === 'dead').length };
  }
}
