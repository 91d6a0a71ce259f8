import { type Selectable, sql, type Transaction } from 'kysely';
import { lowest } from '../../domain/bigint.ts';
import type { DepositState } from '../../domain/deposit.ts';
import { DomainError } from '../../domain/errors.ts';
import { anyOfNumbers, type Database, type Tables } from '../database.ts';
import type { Locked } from '../locked.ts';
import { DOUBT } from '../operations/restore-detection.ts';
import { depositNews } from '../webhooks/events.ts';
import { isAskedFor, writeEvents } from '../webhooks/outbox.ts';
import { type DepositFilter, type DepositRow, filtered, selectDeposits } from './deposit-row.ts';
import { givenRows } from './given-rows.ts';

/** What became of a deposit, and the deposit as it was then. Sequences begin at 1, and have a gap only where the record was restored. */
export interface DepositEvent {
  readonly sequence: bigint;
  readonly kind: DepositState;
  readonly at: Date;
  readonly deposit: DepositRow;
}

/** A transaction that alone writes deposits; see {@link lockFeed}. */
export type FeedTransaction = Locked<Transaction<Tables>, 'feed'>;

/** What a look at the feed found. */
export interface FeedPage {
  readonly events: readonly DepositEvent[];
  /** Everything up to there was looked at, and nothing new ever comes below: go on behind it. It is `after` where nothing follows. */
  readonly next: bigint;
}

/** A look at so many takes a fraction of the time that a statement may, whatever the filter. */
const LOOKED_AT = 100_000n;

/** Everything that became of deposits, in the order in which it was committed. */
export class DepositFeed {
  readonly #db: Database;
  readonly #lookedAt: bigint;

  /** `lookedAt`: how many events one call looks at, at most, for those that its filter lets through. */
  constructor(db: Database, { lookedAt = LOOKED_AT } = {}) {
    this.#db = db;
    this.#lookedAt = lookedAt;
  }

  /**
   * Of the next events above `after`, the first `limit` whose deposit and kind (`state`) the filter lets through: none, where it lets
   * none of those through that one call looks at. Throws FeedBehind where no event of that number was ever told by this record,
   * RecordInDoubt while that may be because it was restored.
   */
  async events(after: bigint, limit: number, { state, ...which }: DepositFilter = {}): Promise<FeedPage> {
    const end = await this.#endOfLook(after);
    if (end === after) return { events: [], next: after };
    // One deposit by its id for each event, as the limit demands: were it a plain join, statistics that were taken amid a large commit
    // would have the planner read all deposits for each.
    const itsDeposit = filtered(selectDeposits(this.#db), which)
      .where('deposit.id', '=', sql.ref<bigint>('event.depositId'))
      .limit(1)
      .as('deposit');
    let query = this.#db
      .selectFrom('depositEvent as event')
      .innerJoinLateral(itsDeposit, (join) => join.onTrue())
      .selectAll('deposit')
      .select(['event.sequence', 'event.kind', 'event.at'])
      .select(['event.amount as amountThen', 'event.reason as reasonThen'])
      .where('event.sequence', '>', after)
      .where('event.sequence', '<=', end);
    if (state !== undefined) query = query.where('event.kind', '=', state);
    const rows = await query.orderBy('event.sequence').limit(limit).execute();
    const events = rows.map(({ sequence, kind, at, amountThen, reasonThen, ...deposit }) => ({
      sequence,
      kind,
      at,
      deposit: { ...deposit, state: kind, amount: amountThen, reason: reasonThen },
    }));
    return { events, next: rows[limit - 1]?.sequence ?? end };
  }

  /**
   * The sequence up to which a look behind `after` goes. It is read before the events: writers count under a lock that they keep to the
   * end, so that whatever is counted by now is there to be read, and what comes later is counted higher.
   */
  async #endOfLook(after: bigint): Promise<bigint> {
    const { last, doubt, first } = await this.#db
      .selectFrom('depositFeed')
      .select(['lastSequence as last', DOUBT.as('doubt')])
      .select((feed) =>
        feed
          .selectFrom('depositEvent')
          .select((event) => event.fn.min('sequence').as('first'))
          .where('sequence', '>', after)
          .as('first'),
      )
      .executeTakeFirstOrThrow();
    if (after > last) throw behind(after, last, doubt !== null);
    if (first === null) return after;
    // Where a record was restored, sequences leap; between two leaps none is left out.
    return lowest([first + this.#lookedAt - 1n, last]);
  }
}

function behind(after: bigint, last: bigint, isInDoubt: boolean): DomainError {
  const message = `after: the newest event is ${last}, so that ${after} was told by a newer record than this`;
  const context = { field: 'after', last: last.toString() };
  return new DomainError(isInDoubt ? 'RecordInDoubt' : 'FeedBehind', message, context);
}

/**
 * A record that may be an older one counts on from far above whatever the newer may have told, once for each such doubt, so that
 * no reader of that takes new events for some that it has: microseconds of now, which grow faster than events come.
 */
export async function renumber(trx: Transaction<Tables>): Promise<void> {
  await trx
    .updateTable('depositFeed')
    .set({
      lastSequence: sql<bigint>`greatest(last_sequence, (extract(epoch from clock_timestamp()) * 1000000)::bigint)`,
      renumberedFor: DOUBT,
    })
    .where(DOUBT, 'is not', null)
    .where('renumberedFor', 'is distinct from', DOUBT)
    .execute();
}

/**
 * Whoever writes deposits does it alone, from here to the end of the transaction: so no event is committed before one of a lower
 * sequence, and none of two writers finds a deposit of the other missing.
 */
export async function lockFeed(trx: Transaction<Tables>): Promise<FeedTransaction> {
  await trx.selectFrom('depositFeed').select('lastSequence').forUpdate().executeTakeFirstOrThrow();
  return trx as FeedTransaction;
}

/** Adds an event for each deposit as it is now, in the order of `deposits`. */
export async function appendEvents(
  trx: FeedTransaction,
  deposits: readonly Pick<Selectable<Tables['deposit']>, 'id' | 'state' | 'amount' | 'reason'>[],
): Promise<void> {
  if (deposits.length === 0) return;
  await renumber(trx);
  const { last } = await trx
    .updateTable('depositFeed')
    .set({ lastSequence: sql<bigint>`last_sequence + ${deposits.length}` })
    .returning('lastSequence as last')
    .executeTakeFirstOrThrow();
  const before = last - BigInt(deposits.length);
  const rows = deposits.map(({ id, state, amount, reason }, index) => ({
    sequence: before + BigInt(index + 1),
    depositId: id,
    kind: state,
    amount,
    reason,
  }));
  const columns = ['sequence', 'depositId', 'kind', 'amount', 'reason'] as const;
  await trx
    .insertInto('depositEvent')
    .columns(columns)
    .expression(trx.selectFrom(givenRows('depositEvent', rows)).select(columns))
    .execute();
  await tell(trx, rows);
}

async function tell(
  trx: Transaction<Tables>,
  events: readonly Pick<Selectable<Tables['depositEvent']>, 'sequence' | 'depositId' | 'kind'>[],
): Promise<void> {
  const types = [...new Set(events.map(({ kind }) => `deposit.${kind}` as const))];
  if (!(await isAskedFor(trx, types))) return;
  const ids = events.map(({ depositId }) => depositId);
  const deposits = await selectDeposits(trx).where('deposit.id', '=', anyOfNumbers(ids)).execute();
  const byId = new Map(deposits.map((deposit) => [deposit.id, deposit]));
  await writeEvents(
    trx,
    events.flatMap(({ sequence, depositId, kind }) => {
      const deposit = byId.get(depositId);
      return deposit === undefined ? [] : depositNews({ sequence, kind, deposit });
    }),
  );
}
