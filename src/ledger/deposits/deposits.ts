import { sql } from 'kysely';
import { chunksOf } from '../../domain/chunks.ts';
import { depositKey } from '../../domain/deposit.ts';
import { anyOf, anyOfNumbers, Repository, type Trx } from '../database.ts';
import { closeAlerts, raiseAlert } from '../operations/alerts.ts';
import { mapPage, negationOf, type Page, type PageRequest, positionBefore, readPage } from '../page.ts';
import type { FoundBlock } from '../scan/findings.ts';
import { lockUnpausedCursor } from '../scan/scan-pauses.ts';
import { appendEvents, lockFeed } from './deposit-feed.ts';
import { depositId, hasPublicId } from './deposit-id.ts';
import {
  applyFilter,
  DEPOSIT_USER,
  type DepositFilter,
  type DepositRow,
  IS_UNCONFIRMED,
  selectDeposits,
} from './deposit-row.ts';
import {
  addDeposits,
  type Confirmation,
  endDeposit,
  lockWalletsOf,
  MAX_ROWS_PER_STATEMENT,
} from './deposit-writing.ts';

/** Everything that watched wallets received: one permanent row for each account, asset and transaction. */
export class Deposits extends Repository {
  async get(id: bigint): Promise<DepositRow | undefined> {
    return selectDeposits(this.db).where('deposit.id', '=', id).executeTakeFirst();
  }

  /** Finds a deposit by its public id. */
  async find(id: string): Promise<DepositRow | undefined> {
    return selectDeposits(this.db).where(hasPublicId(id)).executeTakeFirst();
  }

  /** Newest first. Throws InvalidRequest for a cursor that is not from an earlier page. */
  async list(filter: DepositFilter & PageRequest): Promise<Page<DepositRow>> {
    const before = positionBefore(filter);
    const matching = applyFilter(selectDeposits(this.db), filter).select('deposit.id as position');
    const hasBroadFilter = filter.asset !== undefined || filter.state !== undefined;
    const newest = hasBroadFilter
      ? matching.where(negationOf('deposit.id'), '>', -before).orderBy(negationOf('deposit.id'))
      : matching.where('deposit.id', '<', before).orderBy('deposit.id', 'desc');
    return mapPage(await readPage(newest, filter), ({ position: _position, ...row }) => row);
  }

  /**
   * Finalized deposits that no quorum has confirmed, without those in `except`. Creditable ones come first, so that
   * the others do not delay them. Up to half are the newest ones, so that deposits which one node invented do not
   * delay later ones.
   */
  async unconfirmed(limit: number, except: readonly bigint[] = []): Promise<readonly DepositRow[]> {
    const others = selectDeposits(this.db)
      .where(IS_UNCONFIRMED)
      .where((row) => row.not(row('deposit.id', '=', anyOfNumbers(except))));
    const newest = await others
      .where('deposit.reason', 'is', null)
      .orderBy('deposit.id', 'desc')
      .limit(Math.floor(limit / 2))
      .execute();
    const oldest = await others
      .orderBy(sql`(deposit.reason is not null)`)
      .orderBy('deposit.id')
      .limit(limit - newest.length)
      .execute();
    return [...new Map([...oldest, ...newest].map((row) => [row.id, row])).values()];
  }

  /** The deposits among `ids` that are finalized but not yet confirmed by a quorum. */
  async unconfirmedAmong(ids: readonly bigint[]): Promise<readonly DepositRow[]> {
    if (ids.length === 0) return [];
    return selectDeposits(this.db)
      .where(IS_UNCONFIRMED)
      .where('deposit.id', '=', anyOfNumbers(ids))
      .execute();
  }

  /**
   * Ends finalized deposits with a quorum's verdict and closes their alerts. A deposit that the scan read differently
   * is corrected and raises an alert. Rows that have changed since the nodes were asked are skipped. Returns the ids
   * of the ended deposits. Throws ScanPaused.
   */
  async confirm(confirmations: readonly Confirmation[]): Promise<readonly bigint[]> {
    if (confirmations.length === 0) return [];
    return this.db.transaction().execute(async (trx) => {
      await lockUnpausedCursor(trx);
      const feed = await lockFeed(trx);
      const all = [];
      for (const confirmation of confirmations) all.push((await endDeposit(feed, confirmation)) ?? []);
      const ended = all.flat();
      await appendEvents(feed, ended);
      await alertUnowned(
        trx,
        ended.map(({ id }) => id),
      );
      await closeAlerts(trx, (row) =>
        row.and([row('kind', '=', 'deposit_unconfirmed'), row('subject', '=', anyOf(ended.map(depositId)))]),
      );
      return ended.map(({ id }) => id);
    });
  }

  /**
   * Announces creditable inflows of confirmed blocks above the cursor. Idempotent. An announced deposit becomes final
   * with its block, or is dropped when the cursor passes its slot. Throws ScanPaused.
   */
  async announce(blocks: readonly FoundBlock[]): Promise<void> {
    const creditable = blocks.flatMap(({ header: { slot, blockhash, time }, finding }) =>
      finding.inflows
        .filter(({ reason }) => reason === null)
        .map((inflow) => ({ ...inflow, slot, blockhash, time })),
    );
    if (creditable.length === 0) return;
    await this.db.transaction().execute(async (trx) => {
      // Hold the cursor: if it passed the block before the announcement is committed, nothing would drop the deposit.
      const cursor = await lockUnpausedCursor(trx);
      const feed = await lockFeed(trx);
      const rows = await trx
        .selectFrom('deposit')
        .select(['signature', 'slot', 'account', 'asset'])
        .where('signature', '=', anyOf(creditable.map(({ signature }) => signature)))
        .execute();
      const stored = new Set(rows.map(depositKey));
      const unstored = creditable
        .filter((inflow) => inflow.slot > (cursor ?? inflow.slot) && !stored.has(depositKey(inflow)))
        .map((inflow) => [depositKey(inflow), inflow] as const);
      const announced = [...new Map(unstored).values()];
      await lockWalletsOf(feed, announced);
      for (const part of chunksOf(announced, MAX_ROWS_PER_STATEMENT))
        await appendEvents(feed, await addDeposits(feed, part, { finalized: false }));
    });
  }
}

/** Raises an alert for each of these deposits that is final but reached its address before the assignment to a user. */
async function alertUnowned(trx: Trx, ids: readonly bigint[]): Promise<void> {
  const rows = await trx
    .selectFrom('deposit')
    .innerJoin('depositAddress', 'depositAddress.address', 'deposit.wallet')
    .select(['signature', 'slot', 'account', 'wallet', 'asset', 'amount', 'userRef', 'assignedAfter'])
    .where('deposit.id', '=', anyOfNumbers(ids))
    .where('deposit.state', '=', 'final')
    .where('userRef', 'is not', null)
    .where(DEPOSIT_USER, 'is', null)
    .execute();
  for (const row of rows) {
    const { signature, slot, wallet, asset, amount, userRef, assignedAfter } = row;
    await raiseAlert(trx, {
      kind: 'deposit_unowned',
      subject: depositId(row),
      message: `deposit address ${wallet} received ${amount} base units of ${asset} in slot ${slot}, before its assignment to user ${userRef}: the deposit has no owner`,
      details: { signature, wallet, slot: `${slot}`, assignedAfter: `${assignedAfter}`, amount: `${amount}` },
    });
  }
}
