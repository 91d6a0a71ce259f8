import { type Selectable, sql, type Transaction } from 'kysely';
import type { DepositState } from '../domain/deposit.ts';
import { DomainError } from '../domain/errors.ts';
import type { Database, Tables } from './database.ts';
import { type DepositFilter, type DepositRow, filtered, selectDeposits } from './deposit-row.ts';
import { DOUBT } from './doubt.ts';
import { givenRows } from './given-rows.ts';
import type { Locked } from './locked.ts';
import { depositNews } from './news.ts';
import { writeEvents } from './outbox.ts';

/** What became of a deposit, and the deposit as it was then. Sequences begin at 1, and have a gap only where the record was restored. */
export interface DepositEvent {
  readonly sequence: bigint;
  readonly kind: DepositState;
  readonly at: Date;
  readonly deposit: DepositRow;
}

/** A transaction that alone writes deposits; see {@link lockFeed}. */
export type FeedTransaction = Locked<Transaction<Tables>, 'feed'>;

/** Everything that became of deposits, in the order in which it was committed. */
export class DepositFeed {
  readonly #db: Database;

  constructor(db: Database) {
    this.#db = db;
  }

  /**
   * The events above `after`, the first first; those alone whose deposit and kind (`state`) the filter lets through. Throws FeedBehind
   * where no event of that number was ever told by this record, RecordInDoubt while that may be because it was restored.
   */
  async events(
    after: bigint,
    limit: number,
    { state, ...which }: DepositFilter = {},
  ): Promise<readonly DepositEvent[]> {
    let query = filtered(selectDeposits(this.#db), which)
      .innerJoin('depositEvent as event', 'event.depositId', 'deposit.id')
      .select(['event.sequence', 'event.kind', 'event.at'])
      .select(['event.amount as amountThen', 'event.reason as reasonThen'])
      .where('event.sequence', '>', after);
    if (state !== undefined) query = query.where('event.kind', '=', state);
    const rows = await query.orderBy('event.sequence').limit(limit).execute();
    if (rows.length === 0) await this.#refuseBehind(after);
    return rows.map(({ sequence, kind, at, amountThen, reasonThen, ...deposit }) => ({
      sequence,
      kind,
      at,
      deposit: { ...deposit, state: kind, amount: amountThen, reason: reasonThen },
    }));
  }

  async #refuseBehind(after: bigint): Promise<void> {
    const { last, doubt } = await this.#db
      .selectFrom('depositFeed')
      .select(['lastSequence as last', DOUBT.as('doubt')])
      .executeTakeFirstOrThrow();
    if (after <= last) return;
    const message = `after: the newest event is ${last}, so that ${after} was told by a newer record than this`;
    const context = { field: 'after', last: last.toString() };
    throw new DomainError(doubt === null ? 'FeedBehind' : 'RecordInDoubt', message, context);
  }
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
  const ids = events.map(({ depositId }) => depositId.toString());
  const deposits = await selectDeposits(trx)
    .where('deposit.id', '=', sql<bigint>`any(${ids}::bigint[])`)
    .execute();
  const byId = new Map(deposits.map((deposit) => [deposit.id, deposit]));
  const told = await trx
    .selectFrom('depositEvent')
    .select('depositId')
    .where('depositId', '=', sql<bigint>`any(${ids}::bigint[])`)
    .where('kind', '=', 'pending')
    .execute();
  const toldIds = new Set(told.map(({ depositId }) => depositId));
  await writeEvents(
    trx,
    events.flatMap(({ sequence, depositId, kind }) => {
      const deposit = byId.get(depositId);
      return (
        (deposit === undefined ? null : depositNews({ sequence, kind, deposit }, toldIds.has(depositId))) ??
        []
      );
    }),
  );
}
