import { sql } from 'kysely';
import type { AttemptState } from '../../domain/attempt.ts';
import type { EndedCounts, UnsentCounts } from '../../domain/backpressure.ts';
import { Repository } from '../database.ts';

const ENDED: readonly AttemptState[] = ['landed', 'failed', 'dead'];

/** When the newest signed attempt was prepared. Those that died unsigned are not read: a stall leaves many. */
const newestSigned = (kind: string) => sql<Date>`coalesce(
  (select created_at from attempt where signature is not null and state <> 'prepared' and kind = ${kind}
    order by created_at desc limit 1),
  '-infinity')`;

/** UnsentCounts attempts and the ends of the newest ones, which limit how fast each kind is prepared. */
export class Traffic extends Repository {
  /**
   * Prepared, unsent attempts with an expiry. `living`: not expired at block height `height`. `overdue`: expired,
   * and no later one was signed. Attempts that the signer skipped or refused do not count.
   */
  async unsent(kind: string, height: bigint): Promise<UnsentCounts> {
    const { living, overdue } = await this.db
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
      // One lookup by id for each attempt. With a join and old statistics, the planner compares each attempt with
      // each settlement that is preparing.
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

  /** How many of the newest `count` ended attempts died. `ended` is lower if there are fewer. */
  async newestEnds(kind: string, count: number): Promise<EndedCounts> {
    const newest = await this.db
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
