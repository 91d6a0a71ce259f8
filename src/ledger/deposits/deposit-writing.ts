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
import { holdUnassigned, markUsed } from './deposit-addresses.ts';
import { appendEvents, type FeedTransaction, lockFeed } from './deposit-feed.ts';
import type { Arrival, DepositChange } from './deposit-merge.ts';
import { ANNOUNCED, UNCONFIRMED } from './deposit-row.ts';
import { inputRows } from './input-rows.ts';

export type WrittenDeposit = Pick<RowOf<'deposit'>, 'id' | 'state' | 'amount' | 'reason'>;

/** A quorum's verdict on a deposit, and the row as it was when the nodes were asked. */
export interface Confirmation {
  readonly row: Pick<RowOf<'deposit'>, 'id'> & ReportedInflow;
  readonly verdict: InflowVerdict;
}

const WRITTEN = ['deposit.id', 'deposit.state', 'deposit.amount', 'deposit.reason'] as const;
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

/** Maximum rows of one statement: a single statement for a large block would exceed the statement timeout. */
export const ROWS_AT_ONCE = 5_000;

/** Keeps these wallets from being assigned. Called before other writes, so that all are locked in one order. */
export async function holdWallets(trx: FeedTransaction, arrivals: readonly Arrival[]): Promise<void> {
  await holdUnassigned(trx, [...new Set(arrivals.map(({ wallet }) => wallet))]);
}

/** The caller has locked the wallets. Returns the deposits that need an event, in their order. */
export async function addDeposits(
  trx: FeedTransaction,
  arrivals: readonly Arrival[],
  { finalized = true } = {},
): Promise<readonly WrittenDeposit[]> {
  if (arrivals.length === 0) return [];
  const rows = arrivals.map((arrival) => ({ ...arrival, state: 'pending' as const }));
  const input = trx
    .selectFrom(inputRows('deposit', rows))
    .select(INPUT_COLUMNS)
    .select(sql<Date | null>`${finalized ? sql`now()` : sql`null::timestamptz`}`.as('finalizedAt'));
  const added = await trx
    .insertInto('deposit')
    .columns([...INPUT_COLUMNS, 'finalizedAt'])
    .expression(input)
    .returning(WRITTEN)
    .execute();
  return inIdOrder(added.filter(needsEvent));
}

/** The caller has locked the new wallets. Returns the changes that need an event. */
export async function changeDeposits(
  trx: FeedTransaction,
  changes: readonly DepositChange[],
): Promise<readonly WrittenDeposit[]> {
  if (changes.length === 0) return [];
  const rows = changes.map(({ id, arrival }) => ({ ...arrival, id, state: 'pending' as const }));
  const changed = await trx
    .updateTable('deposit')
    .from(inputRows('deposit', rows))
    .set((row) => ({
      // The hash of an announced deposit comes from one node.
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
    .returning(WRITTEN)
    .execute();
  const news = new Set(changes.filter(({ isNews }) => isNews).map(({ id }) => id));
  return inIdOrder(changed.filter((one) => news.has(one.id) && needsEvent(one)));
}

/** Ends a pending deposit with the quorum's verdict. Undefined if it has changed since the nodes were asked. */
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
    .where(UNCONFIRMED)
    .returning([...WRITTEN, 'signature', 'slot', 'account', 'asset', 'wallet'])
    .executeTakeFirst();
  if (ended === undefined) return undefined;
  // Our own transfers, such as a first balance for an address, do not show that a user knows the address.
  if (ended.reason !== 'internal') await markUsed(trx, ended.wallet);
  if (ended.reason === 'asset_changed') await alertChangedAsset(trx, ended);
  if (isAlike(before, confirmed)) return ended;
  const { signature, account, asset } = ended;
  await raiseAlert(trx, {
    kind: 'deposit_mismatch',
    subject: signature,
    message: `${by.join(', ')} report ${describeInflow({ ...confirmed, asset, account })}, the node of the scan reported ${describeInflow({ ...before, asset, account })}`,
    details: { account, asset, by, onRecord: before.amount.toString(), read: confirmed.amount.toString() },
  });
  return ended;
}

async function alertChangedAsset(
  trx: FeedTransaction,
  { asset, amount, account, signature }: Omit<Movement, 'amount'> & Pick<WrittenDeposit, 'amount'>,
): Promise<void> {
  const message =
    `the mint ${asset} has other decimals or another program than its listing: it was closed and created again. ` +
    `${account} received ${amount} base units of it, which are not credited. Turn deposits of it off, and ask the issuer`;
  const details = { account, amount: amount.toString(), signature };
  await raiseAlert(trx, { kind: 'asset_changed', subject: asset, message, details });
}

/** A deposit that one node shows as not creditable gets its event once a quorum confirms that. */
function needsEvent({ reason }: WrittenDeposit): boolean {
  return reason === null;
}

function inIdOrder(deposits: readonly WrittenDeposit[]): readonly WrittenDeposit[] {
  return deposits.toSorted((a, b) => Number(a.id - b.id));
}

/** Drops announced deposits up to `slot` that are in no finalized block: their fork is dead. */
export async function dropPassed(trx: Trx, slot: bigint): Promise<void> {
  const passed = await trx
    .selectFrom('deposit')
    .select('id')
    .where(ANNOUNCED)
    .where('slot', '<=', slot)
    .orderBy('id')
    .execute();
  if (passed.length === 0) return;
  const feed = await lockFeed(trx);
  const ids = passed.map(({ id }) => id);
  for (const part of chunksOf(ids, ROWS_AT_ONCE)) {
    const dropped = await feed
      .updateTable('deposit')
      .set({ state: 'dropped', updatedAt: sql<Date>`now()` })
      .where('id', '=', anyOfNumbers(part))
      .where(ANNOUNCED)
      .returning(WRITTEN)
      .execute();
    await appendEvents(feed, inIdOrder(dropped));
  }
}
