import { type Selectable, sql, type Transaction } from 'kysely';
import type { Tables } from './database.ts';
import { markUsed } from './deposit-addresses.ts';
import { appendEvents, lockFeed } from './deposit-feed.ts';
import { type Arrival, type Change, stateOf } from './deposit-merge.ts';
import { givenRows } from './given-rows.ts';

/** A deposit as it is after a write: what an event tells of. */
export type WrittenDeposit = Pick<Selectable<Tables['deposit']>, 'id' | 'state' | 'amount' | 'reason'>;

export const WRITTEN = ['deposit.id', 'deposit.state', 'deposit.amount', 'deposit.reason'] as const;
const GIVEN = [
  'signature',
  'slot',
  'blockhash',
  'time',
  'account',
  'wallet',
  'asset',
  'amount',
  'state',
  'reason',
] as const;

/** Adds deposits of finalized blocks, or announced ones, in their order. Needs the lock of the feed, as all here does. */
export async function addDeposits(
  trx: Transaction<Tables>,
  arrivals: readonly Arrival[],
  { finalized = true } = {},
): Promise<readonly WrittenDeposit[]> {
  if (arrivals.length === 0) return [];
  const rows = arrivals.map((arrival) => ({ ...arrival, state: stateOf(arrival) }));
  const given = trx
    .selectFrom(givenRows('deposit', rows))
    .select(GIVEN)
    .select(sql<Date | null>`${finalized ? sql`now()` : sql`null::timestamptz`}`.as('finalizedAt'));
  const added = await trx
    .insertInto('deposit')
    .columns([...GIVEN, 'finalizedAt'])
    .expression(given)
    .returning(WRITTEN)
    .execute();
  // What we moved ourselves, such as a first balance for an address, tells nobody of it.
  const others = arrivals.filter(({ reason }) => reason !== 'internal');
  await markUsed(
    trx,
    others.map(({ wallet }) => wallet),
  );
  return added.toSorted((a, b) => Number(a.id - b.id));
}

/** Answers those that are news. */
export async function changeDeposits(
  trx: Transaction<Tables>,
  changes: readonly Change[],
): Promise<readonly WrittenDeposit[]> {
  if (changes.length === 0) return [];
  const rows = changes.map(({ id, arrival }) => ({ ...arrival, id, state: stateOf(arrival) }));
  const changed = await trx
    .updateTable('deposit')
    .from(givenRows('deposit', rows))
    .set((row) => ({
      amount: row.ref('given.amount'),
      state: row.ref('given.state'),
      reason: row.ref('given.reason'),
      time: row.ref('given.time'),
      finalizedAt: sql<Date>`coalesce(deposit.finalized_at, now())`,
      updatedAt: sql<Date>`now()`,
    }))
    .whereRef('deposit.id', '=', 'given.id')
    .returning(WRITTEN)
    .execute();
  const news = new Set(changes.filter(({ isNews }) => isNews).map(({ id }) => id));
  return changed.filter(({ id }) => news.has(id)).toSorted((a, b) => Number(a.id - b.id));
}

/** Drops what was announced up to `slot` and is in no finalized block: the blocks that had it are gone. */
export async function dropPassed(trx: Transaction<Tables>, slot: bigint): Promise<void> {
  const passed = await trx
    .selectFrom('deposit')
    .select('id')
    .where('state', '=', 'pending')
    .where('finalizedAt', 'is', null)
    .where('slot', '<=', slot)
    .orderBy('id')
    .execute();
  if (passed.length === 0) return;
  await lockFeed(trx);
  const dropped = await trx
    .updateTable('deposit')
    .set({ state: 'dropped', updatedAt: sql<Date>`now()` })
    .where('id', '=', sql<bigint>`any(${passed.map(({ id }) => id.toString())}::bigint[])`)
    .where('state', '=', 'pending')
    .where('finalizedAt', 'is', null)
    .returning(WRITTEN)
    .execute();
  await appendEvents(
    trx,
    dropped.toSorted((a, b) => Number(a.id - b.id)),
  );
}
