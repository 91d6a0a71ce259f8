import { sql } from 'kysely';
import type { DepositState } from '../../domain/deposit.ts';
import { DomainError } from '../../domain/errors.ts';
import { lowest } from '../../domain/units.ts';
import {
  anyOfNumbers,
  type Database,
  type LockProof,
  Repository,
  type RowOf,
  type Trx,
} from '../database.ts';
import { POSSIBLE_LOSS } from '../operations/restore-detection.ts';
import { depositOutboxEvent } from '../webhooks/events.ts';
import { hasSubscriber, writeEvents } from '../webhooks/outbox.ts';
import { applyFilter, type DepositFilter, type DepositRow, selectDeposits } from './deposit-row.ts';
import { inputRows } from './input-rows.ts';

/**
 * A change of a deposit, with the deposit as it was after the change. Sequences begin at 1 and have gaps only after a
 * restore.
 */
export interface DepositEvent {
  readonly sequence: bigint;
  readonly kind: DepositState;
  readonly at: Date;
  readonly deposit: DepositRow;
}

/** A transaction that holds the lock of the feed, so that it is the only writer of deposits: see {@link lockFeed}. */
export type FeedTransaction = LockProof<Trx, 'feed'>;

export interface FeedPage {
  readonly events: readonly DepositEvent[];
  /**
   * Pass this as `after` for the next page: later events always get higher sequences. Equal to the given `after` at
   * the end of the feed.
   */
  readonly next: bigint;
}

/** Reading this many events takes a fraction of the statement timeout, even if the filter matches none. */
const MAX_EXAMINED_EVENTS = 100_000n;

/** All deposit events, in the order of their commits. */
export class DepositFeed extends Repository {
  readonly #maxExamined: bigint;

  /** `maxExamined`: the maximum number of events that one call examines for its filter. */
  constructor(db: Database, { maxExamined = MAX_EXAMINED_EVENTS } = {}) {
    super(db);
    this.#maxExamined = maxExamined;
  }

  /**
   * Returns up to `limit` matching events after the sequence `after`; `state` filters by the kind of the event. One
   * call examines a limited number of events, so a page can be empty before the end of the feed. Throws FeedBehind if
   * this database never issued `after`, or DatabaseIncomplete if the database may have been restored.
   */
  async events(after: bigint, limit: number, { state, ...which }: DepositFilter = {}): Promise<FeedPage> {
    const end = await this.#lastExamined(after);
    if (end === after) return { events: [], next: after };
    // The limit makes the planner read one deposit by id for each event. With statistics that were collected during a
    // large commit, a plain join reads all deposits for each event.
    const depositOfEvent = applyFilter(selectDeposits(this.db), which)
      .where('deposit.id', '=', sql.ref<bigint>('event.depositId'))
      .limit(1)
      .as('deposit');
    let query = this.db
      .selectFrom('depositEvent as event')
      .innerJoinLateral(depositOfEvent, (join) => join.onTrue())
      .selectAll('deposit')
      .select(['event.sequence', 'event.kind', 'event.at'])
      .select(['event.amount as eventAmount', 'event.reason as eventReason'])
      .where('event.sequence', '>', after)
      .where('event.sequence', '<=', end);
    if (state !== undefined) query = query.where('event.kind', '=', state);
    const rows = await query.orderBy('event.sequence').limit(limit).execute();
    const events = rows.map(({ sequence, kind, at, eventAmount, eventReason, ...deposit }) => ({
      sequence,
      kind,
      at,
      deposit: { ...deposit, state: kind, amount: eventAmount, reason: eventReason },
    }));
    return { events, next: rows[limit - 1]?.sequence ?? end };
  }

  /**
   * Returns the last sequence to examine after `after`; call it before the events are read. Writers raise
   * `last_sequence` under a lock that they hold until commit. All events up to the result are therefore visible, and
   * later ones are higher.
   */
  async #lastExamined(after: bigint): Promise<bigint> {
    const { last, loss, first } = await this.db
      .selectFrom('depositFeed')
      .select(['lastSequence as last', POSSIBLE_LOSS.as('loss')])
      .select((feed) =>
        feed
          .selectFrom('depositEvent')
          .select((event) => event.fn.min('sequence').as('first'))
          .where('sequence', '>', after)
          .as('first'),
      )
      .executeTakeFirstOrThrow();
    if (after > last) throw feedBehindError(after, last, loss !== null);
    if (first === null) return after;
    // Sequences jump at each restore; between two jumps they are consecutive.
    return lowest([first + this.#maxExamined - 1n, last]);
  }
}

function feedBehindError(after: bigint, last: bigint, mayBeRestored: boolean): DomainError {
  const message = `sequence ${after} is above the newest event ${last}: this database may be older than the one that returned ${after}`;
  const context = { field: 'after', last: last.toString() };
  return new DomainError(mayBeRestored ? 'DatabaseIncomplete' : 'FeedBehind', message, context);
}

/**
 * Moves the last sequence far above every sequence that the replaced database can have issued, once after each
 * possible restore. Readers therefore never mistake a new event for a known one. The clock in microseconds is high
 * enough, because it grows faster than sequences do.
 */
export async function raiseLastSequence(trx: Trx): Promise<void> {
  await trx
    .updateTable('depositFeed')
    .set({
      lastSequence: sql<bigint>`greatest(last_sequence, (extract(epoch from clock_timestamp()) * 1000000)::bigint)`,
      renumberedFor: POSSIBLE_LOSS,
    })
    .where(POSSIBLE_LOSS, 'is not', null)
    .where('renumberedFor', 'is distinct from', POSSIBLE_LOSS)
    .execute();
}

/**
 * Locks the feed until the transaction ends. With one writer at a time, events commit in the order of their
 * sequences, and no writer misses a deposit.
 */
export async function lockFeed(trx: Trx): Promise<FeedTransaction> {
  await trx.selectFrom('depositFeed').select('lastSequence').forUpdate().executeTakeFirstOrThrow();
  return trx as FeedTransaction;
}

/** Adds an event for each deposit in its current state, in the order of `deposits`. */
export async function appendEvents(
  trx: FeedTransaction,
  deposits: readonly Pick<RowOf<'deposit'>, 'id' | 'state' | 'amount' | 'reason'>[],
): Promise<void> {
  if (deposits.length === 0) return;
  await raiseLastSequence(trx);
  const { last } = await trx
    .updateTable('depositFeed')
    .set({ lastSequence: sql<bigint>`last_sequence + ${deposits.length}` })
    .returning('lastSequence as last')
    .executeTakeFirstOrThrow();
  const previousLast = last - BigInt(deposits.length);
  const rows = deposits.map(({ id, state, amount, reason }, index) => ({
    sequence: previousLast + BigInt(index + 1),
    depositId: id,
    kind: state,
    amount,
    reason,
  }));
  const columns = ['sequence', 'depositId', 'kind', 'amount', 'reason'] as const;
  await trx
    .insertInto('depositEvent')
    .columns(columns)
    .expression(trx.selectFrom(inputRows('depositEvent', rows)).select(columns))
    .execute();
  await writeWebhookEvents(trx, rows);
}

async function writeWebhookEvents(
  trx: Trx,
  events: readonly Pick<RowOf<'depositEvent'>, 'sequence' | 'depositId' | 'kind'>[],
): Promise<void> {
  const types = [...new Set(events.map(({ kind }) => `deposit.${kind}` as const))];
  if (!(await hasSubscriber(trx, types))) return;
  const ids = events.map(({ depositId }) => depositId);
  const deposits = await selectDeposits(trx).where('deposit.id', '=', anyOfNumbers(ids)).execute();
  const byId = new Map(deposits.map((deposit) => [deposit.id, deposit]));
  await writeEvents(
    trx,
    events.flatMap(({ sequence, depositId, kind }) => {
      const deposit = byId.get(depositId);
      return deposit === undefined ? [] : depositOutboxEvent({ sequence, kind, deposit });
    }),
  );
}
