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
import { type DepositFilter, type DepositRow, filtered, selectDeposits } from './deposit-row.ts';
import { inputRows } from './input-rows.ts';

/** A change of a deposit, and the deposit at that time. Sequences begin at 1 and have gaps only after a restore. */
export interface DepositEvent {
  readonly sequence: bigint;
  readonly kind: DepositState;
  readonly at: Date;
  readonly deposit: DepositRow;
}

/** A transaction that is the only writer of deposits: see {@link lockFeed}. */
export type FeedTransaction = LockProof<Trx, 'feed'>;

export interface FeedPage {
  readonly events: readonly DepositEvent[];
  /** Continue after this sequence: no new event is ever added below it. Equal to `after` at the end. */
  readonly next: bigint;
}

/** Reading this many events takes a fraction of the statement timeout, whatever the filter. */
const LOOKED_AT = 100_000n;

/** All deposit events, in the order of their commits. */
export class DepositFeed extends Repository {
  readonly #lookedAt: bigint;

  /** `lookedAt`: the maximum number of events that one call examines for its filter. */
  constructor(db: Database, { lookedAt = LOOKED_AT } = {}) {
    super(db);
    this.#lookedAt = lookedAt;
  }

  /**
   * Returns the first `limit` matching events after `after` (`state` filters by kind). The page is empty if none of
   * the events that one call examines matches. Throws FeedBehind if this database never issued `after`,
   * RecordInDoubt while a restore may be the reason.
   */
  async events(after: bigint, limit: number, { state, ...which }: DepositFilter = {}): Promise<FeedPage> {
    const end = await this.#endOfLook(after);
    if (end === after) return { events: [], next: after };
    // The limit makes the planner read one deposit by id for each event. With statistics from amid a large commit, a
    // plain join reads all deposits for each event.
    const itsDeposit = filtered(selectDeposits(this.db), which)
      .where('deposit.id', '=', sql.ref<bigint>('event.depositId'))
      .limit(1)
      .as('deposit');
    let query = this.db
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
   * The last sequence that a read after `after` examines, read before the events. Writers increase it under a lock
   * that they keep until commit, so all events up to it are visible and later ones are higher.
   */
  async #endOfLook(after: bigint): Promise<bigint> {
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
    if (after > last) throw behind(after, last, loss !== null);
    if (first === null) return after;
    // Sequences jump at each restore; between two jumps they are consecutive.
    return lowest([first + this.#lookedAt - 1n, last]);
  }
}

function behind(after: bigint, last: bigint, mayBeRestored: boolean): DomainError {
  const message = `after: ${after} is above the newest event ${last}: the database may be older than the one that returned ${after}`;
  const context = { field: 'after', last: last.toString() };
  return new DomainError(mayBeRestored ? 'RecordInDoubt' : 'FeedBehind', message, context);
}

/**
 * After a possible restore, sequences continue far above all that the newer database can have issued, once for each
 * restore. No reader then mistakes new events for known ones. Microseconds grow faster than sequences.
 */
export async function renumber(trx: Trx): Promise<void> {
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

/** Locks the feed for its only writer: events commit in order of sequence, and no writer misses a deposit. */
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
