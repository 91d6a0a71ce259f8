import type { Alarm } from '../../domain/alerts.ts';
import { chunksOf } from '../../domain/chunks.ts';
import {
  type BlockFinding,
  type BlockHeader,
  depositKey,
  type Outflow,
  type Spend,
} from '../../domain/deposit.ts';
import { describeInflow } from '../../domain/quorum-result.ts';
import { anyOf, anyOfNumbers, type Trx } from '../database.ts';
import { appendEvents, type FeedTransaction, lockFeed } from '../deposits/deposit-feed.ts';
import { type BlockInflow, type Mismatch, mergeInflows } from '../deposits/deposit-merge.ts';
import {
  addDeposits,
  changeDeposits,
  lockWalletsOf,
  MAX_ROWS_PER_STATEMENT,
} from '../deposits/deposit-writing.ts';
import { inputRows } from '../deposits/input-rows.ts';
import { alertSeizures } from '../deposits/seizures.ts';
import { raiseAlert } from '../operations/alerts.ts';

/** Findings of a finalized block. `blockhash` is null if only its transactions were available. */
export interface FoundBlock {
  readonly header: Pick<BlockHeader, 'slot' | 'time'> & { readonly blockhash: string | null };
  readonly finding: BlockFinding;
}

/**
 * Stores findings; stored rows stay unchanged. Returns the incoming transfers that were not stored as finalized yet.
 */
export async function recordFindings(
  trx: Trx,
  blocks: readonly FoundBlock[],
): Promise<readonly BlockInflow[]> {
  const spends = blocks.flatMap(({ header: { slot }, finding }) =>
    finding.spends.map((spend) => ({ ...spend, slot })),
  );
  for (const part of chunksOf(spends, MAX_ROWS_PER_STATEMENT)) await recordSpends(trx, part);
  for (const part of chunksOf(outflowsOf(blocks), MAX_ROWS_PER_STATEMENT)) await recordOutflows(trx, part);
  return recordInflows(
    trx,
    blocks.flatMap(({ header: { slot, blockhash, time }, finding }) =>
      finding.inflows.map((inflow) => ({ ...inflow, slot, blockhash, time })),
    ),
  );
}

/**
 * Deletes stored outflows of complete blocks that `blocks` do not contain. Outflows are taken from a single node, so a
 * rescan with another node must be able to remove a false one, which had raised the alert `balance_difference`.
 */
export async function removeUnreturnedOutflows(trx: Trx, blocks: readonly FoundBlock[]): Promise<void> {
  const completeBlocks = blocks.filter(({ header }) => header.blockhash !== null);
  if (completeBlocks.length === 0) return;
  await trx
    .deleteFrom('outflow')
    .where('slot', '=', anyOfNumbers(completeBlocks.map(({ header }) => header.slot)))
    .where((row) =>
      row.not(
        row.exists(
          row
            .selectFrom(inputRows('outflow', outflowsOf(completeBlocks)))
            .select('input.slot')
            .whereRef('input.signature', '=', 'outflow.signature')
            .whereRef('input.slot', '=', 'outflow.slot')
            .whereRef('input.account', '=', 'outflow.account')
            .whereRef('input.asset', '=', 'outflow.asset')
            .whereRef('input.amount', '=', 'outflow.amount'),
        ),
      ),
    )
    .execute();
}

function outflowsOf(blocks: readonly FoundBlock[]) {
  return blocks.flatMap(({ header: { slot }, finding }) =>
    finding.outflows.map((outflow) => ({ ...outflow, slot })),
  );
}

async function recordSpends(trx: Trx, spends: readonly (Spend & { readonly slot: bigint })[]): Promise<void> {
  const columns = ['signature', 'slot', 'wallet', 'error'] as const;
  await trx
    .insertInto('spend')
    .columns(columns)
    .expression(trx.selectFrom(inputRows('spend', spends)).select(columns))
    .onConflict((conflict) => conflict.doNothing())
    .execute();
}

async function recordOutflows(
  trx: Trx,
  outflows: readonly (Outflow & { readonly slot: bigint })[],
): Promise<void> {
  const columns = ['signature', 'slot', 'account', 'asset', 'wallet', 'amount', 'ownerSigned'] as const;
  const stored = await trx
    .insertInto('outflow')
    .columns(columns)
    .expression(trx.selectFrom(inputRows('outflow', outflows)).select(columns))
    .onConflict((conflict) => conflict.doNothing())
    .returningAll()
    .execute();
  await alertSeizures(trx, stored);
}

async function recordInflows(trx: Trx, arrivals: readonly BlockInflow[]): Promise<readonly BlockInflow[]> {
  if (arrivals.length === 0) return [];
  const feed = await lockFeed(trx);
  await lockWalletsOf(feed, arrivals);
  const added: BlockInflow[] = [];
  for (const part of chunksOf(arrivals, MAX_ROWS_PER_STATEMENT))
    added.push(...(await recordArrivalBatch(feed, part)));
  return added;
}

async function recordArrivalBatch(
  feed: FeedTransaction,
  arrivals: readonly BlockInflow[],
): Promise<readonly BlockInflow[]> {
  const signatures = [...new Set(arrivals.map(({ signature }) => signature))];
  const known = await feed
    .selectFrom('deposit')
    .selectAll()
    .where('signature', '=', anyOf(signatures))
    .execute();
  const { added, changed, mismatches } = mergeInflows(known, arrivals);
  await appendEvents(feed, [...(await addDeposits(feed, added)), ...(await changeDeposits(feed, changed))]);
  for (const mismatch of mismatches) await raiseAlert(feed, alarmOf(mismatch));
  const finalizedBefore = new Set(known.filter(({ finalizedAt }) => finalizedAt !== null).map(depositKey));
  return arrivals.filter((arrival) => !finalizedBefore.has(depositKey(arrival)));
}

function alarmOf({ known, inflow }: Mismatch): Alarm {
  const { signature, slot, account, asset, state } = known;
  const recorded =
    state === 'dropped' ? 'an operator rejected that deposit' : `the database has ${describeInflow(known)}`;
  return {
    kind: 'deposit_mismatch',
    subject: signature,
    message: `a second read of block ${slot} returned ${describeInflow(inflow)}, but ${recorded}`,
    details: { account, asset, state, stored: known.amount.toString(), read: inflow.amount.toString() },
  };
}
