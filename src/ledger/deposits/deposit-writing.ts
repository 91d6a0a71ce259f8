import { sql } from 'kysely';
import { chunksOf } from '../../domain/chunks.ts';
import type { BlockHeader, Movement } from '../../domain/deposit.ts';
import {
  describeInflow,
  type InflowVerdict,
  isAlike,
  type ReportedInflow,
} from '../../domain/quorum-result.ts';
import { anyOfNumbers, type RowOf, type Trx } from '../database.ts';
import { raiseAlert } from '../operations/alerts.ts';
import { lockUnassigned, markUsed } from './deposit-addresses.ts';
import { appendEvents, type FeedTransaction, lockFeed } from './deposit-feed.ts';
import type { BlockInflow, DepositChange } from './deposit-merge.ts';
import { IS_ANNOUNCED, IS_UNCONFIRMED } from './deposit-row.ts';
import { inputRows } from './input-rows.ts';

export type WrittenDeposit = Pick<RowOf<'deposit'>, 'id' | 'state' | 'amount' | 'reason'>;

/** A quorum's verdict on a deposit, and the row as it was when the nodes were asked. */
export interface Confirmation {
  readonly row: Pick<RowOf<'deposit'>, 'id'> & ReportedInflow;
  readonly verdict: InflowVerdict;
}

const WRITTEN_COLUMNS = ['deposit.id', 'deposit.state', 'deposit.amount', 'deposit.reason'] as const;
const INPUT_COLUMNS = [
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

/** A single statement for a large block would exceed the statement timeout. */
export const MAX_ROWS_PER_STATEMENT = 5_000;

/**
 * Prevents the assignment of the wallets of these inflows. Call it before other writes, so that all transactions lock
 * in one order.
 */
export async function lockWalletsOf(trx: FeedTransaction, inflows: readonly BlockInflow[]): Promise<void> {
  await lockUnassigned(trx, [...new Set(inflows.map(({ wallet }) => wallet))]);
}

/**
 * Inserts pending deposits and returns those that need an event, in the order of their ids. The caller has locked the
 * wallets.
 */
export async function addDeposits(
  trx: FeedTransaction,
  inflows: readonly BlockInflow[],
  { finalized = true } = {},
): Promise<readonly WrittenDeposit[]> {
  if (inflows.length === 0) return [];
  const rows = inflows.map((inflow) => ({ ...inflow, state: 'pending' as const }));
  const input = trx
    .selectFrom(inputRows('deposit', rows))
    .select(INPUT_COLUMNS)
    .select(sql<Date | null>`${finalized ? sql`now()` : sql`null::timestamptz`}`.as('finalizedAt'));
  const added = await trx
    .insertInto('deposit')
    .columns([...INPUT_COLUMNS, 'finalizedAt'])
    .expression(input)
    .returning(WRITTEN_COLUMNS)
    .execute();
  return inIdOrder(added.filter(needsEvent));
}

/** Returns the changed deposits that need an event. The caller has locked the new wallets. */
export async function changeDeposits(
  trx: FeedTransaction,
  changes: readonly DepositChange[],
): Promise<readonly WrittenDeposit[]> {
  if (changes.length === 0) return [];
  const rows = changes.map(({ id, inflow }) => ({ ...inflow, id, state: 'pending' as const }));
  const changed = await trx
    .updateTable('deposit')
    .from(inputRows('deposit', rows))
    .set((row) => ({
      // The hash of an announced deposit comes from one node, so the finalized block replaces it.
      blockhash: row
        .case()
        .when('deposit.finalizedAt', 'is', null)
        .then(row.ref('input.blockhash'))
        .else(row.ref('deposit.blockhash'))
        .end(),
      amount: row.ref('input.amount'),
      wallet: row.ref('input.wallet'),
      state: row.ref('input.state'),
      reason: row.ref('input.reason'),
      time: row.ref('input.time'),
      finalizedAt: sql<Date>`coalesce(deposit.finalized_at, now())`,
      updatedAt: sql<Date>`now()`,
    }))
    .whereRef('deposit.id', '=', 'input.id')
    .returning(WRITTEN_COLUMNS)
    .execute();
  const news = new Set(changes.filter(({ isNews }) => isNews).map(({ id }) => id));
  return inIdOrder(changed.filter((deposit) => news.has(deposit.id) && needsEvent(deposit)));
}

/**
 * Ends a pending deposit with the quorum's verdict. Returns undefined if the row has changed since the nodes were
 * asked.
 */
export async function endDeposit(
  trx: FeedTransaction,
  { row: { id, ...before }, verdict: { by, ...confirmed } }: Confirmation,
): Promise<(WrittenDeposit & Omit<Movement, 'amount'> & Pick<BlockHeader, 'slot'>) | undefined> {
  const state = confirmed.reason === null ? 'final' : 'not_credited';
  const ended = await trx
    .updateTable('deposit')
    .set({ ...confirmed, state, confirmedBy: by.join(', '), updatedAt: sql<Date>`now()` })
    .where('id', '=', id)
    .where('wallet', '=', before.wallet)
    .where('amount', '=', before.amount)
    .where('reason', 'is not distinct from', before.reason)
    .where(IS_UNCONFIRMED)
    .returning([...WRITTEN_COLUMNS, 'signature', 'slot', 'account', 'asset', 'wallet'])
    .executeTakeFirst();
  if (ended === undefined) return undefined;
  // A transfer of our own, such as an initial balance, does not show that a user knows the address.
  if (ended.reason !== 'internal') await markUsed(trx, ended.wallet);
  if (ended.reason === 'asset_changed') await alertChangedAsset(trx, ended);
  if (isAlike(before, confirmed)) return ended;
  const { signature, account, asset } = ended;
  await raiseAlert(trx, {
    kind: 'deposit_mismatch',
    subject: signature,
    message: `nodes ${by.join(', ')} report ${describeInflow({ ...confirmed, asset, account })}, but the node of the scan reported ${describeInflow({ ...before, asset, account })}`,
    details: { account, asset, by, stored: before.amount.toString(), read: confirmed.amount.toString() },
  });
  return ended;
}

async function alertChangedAsset(
  trx: FeedTransaction,
  { asset, amount, account, signature }: Omit<Movement, 'amount'> & Pick<WrittenDeposit, 'amount'>,
): Promise<void> {
  const message =
    `mint ${asset} no longer has the listed decimals and program: it was closed and created again. ` +
    `${account} received ${amount} base units, which are not credited. Turn off deposits of ${asset} and ask the issuer`;
  const details = { account, amount: amount.toString(), signature };
  await raiseAlert(trx, { kind: 'asset_changed', subject: asset, message, details });
}

/** One node alone cannot report a deposit as not creditable: that event is written when a quorum confirms it. */
function needsEvent({ reason }: WrittenDeposit): boolean {
  return reason === null;
}

function inIdOrder(deposits: readonly WrittenDeposit[]): readonly WrittenDeposit[] {
  return deposits.toSorted((a, b) => Number(a.id - b.id));
}

/** Drops announced deposits up to `slot` whose block did not become final: their fork was abandoned. */
export async function dropAnnouncedUpTo(trx: Trx, slot: bigint): Promise<void> {
  const announced = await trx
    .selectFrom('deposit')
    .select('id')
    .where(IS_ANNOUNCED)
    .where('slot', '<=', slot)
    .orderBy('id')
    .execute();
  if (announced.length === 0) return;
  const feed = await lockFeed(trx);
  const ids = announced.map(({ id }) => id);
  for (const part of chunksOf(ids, MAX_ROWS_PER_STATEMENT)) {
    const dropped = await feed
      .updateTable('deposit')
      .set({ state: 'dropped', updatedAt: sql<Date>`now()` })
      .where('id', '=', anyOfNumbers(part))
      .where(IS_ANNOUNCED)
      .returning(WRITTEN_COLUMNS)
      .execute();
    await appendEvents(feed, inIdOrder(dropped));
  }
}
