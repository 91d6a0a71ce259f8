import { sql } from 'kysely';
import type { AttemptState } from '../../domain/attempt.ts';
import type { EndedCounts, UnsentCounts } from '../../domain/backpressure.ts';
import { Repository } from '../database.ts';

const ENDED_STATES: readonly AttemptState[] = ['landed', 'failed', 'dead'];

/**
 * Time at which the newest signed attempt was prepared. Attempts that expired without a signature are skipped: a
 * stalled signer leaves many.
 */
const newestSigned = (kind: string) => sql<Date>`coalesce(
  (select created_at from attempt where signature is not null and state <> 'prepared' and kind = ${kind}
    order by created_at desc limit 1),
  '-infinity')`;

/** Unsent attempts and the outcomes of the newest ones, which limit how fast each kind is prepared. */
export class InFlightAttempts extends Repository {
  /**
   * Counts prepared, unsent attempts with an expiry. `living`: not expired at block height `height`. `overdue`:
   * expired, and no attempt that was prepared later is signed. Attempts that the signer skipped or refused are not
   * counted.
   */
  async countUnsent(kind: string, height: bigint): Promise<UnsentCounts> {
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

  /**
   * Counts the dead attempts among the newest `count` ended attempts. `ended` is lower than `count` if fewer have
   * ended.
   */
  async newestEnds(kind: string, count: number): Promise<EndedCounts> {
    const newest = await this.db
      .selectFrom('attempt')
      .select('state')
      .where('state', 'in', ENDED_STATES)
      .where('kind', '=', kind)
      .orderBy('createdAt', 'desc')
      .limit(count)
      .execute();
    return { ended: newest.length, dead: newest.filter(({ state }) => state === 'dead').length };
  }
}
