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
  type DepositFilter,
  type DepositRow,
  filtered,
  OWNER,
  selectDeposits,
  UNCONFIRMED,
} from './deposit-row.ts';
import { addDeposits, type Confirmation, endDeposit, holdWallets, ROWS_AT_ONCE } from './deposit-writing.ts';

/** Everything that watched wallets received: one row for each account, asset and transaction, for ever. */
export class Deposits extends Repository {
  async get(id: bigint): Promise<DepositRow | undefined> {
    return selectDeposits(this.db).where('deposit.id', '=', id).executeTakeFirst();
  }

  /** The deposit with this public id; undefined if there is none. */
  async find(id: string): Promise<DepositRow | undefined> {
    return selectDeposits(this.db).where(hasPublicId(id)).executeTakeFirst();
  }

  /** Newest first. Throws InvalidRequest for a cursor that is not from an earlier page. */
  async list(filter: DepositFilter & PageRequest): Promise<Page<DepositRow>> {
    const before = positionBefore(filter);
    const some = filtered(selectDeposits(this.db), filter).select('deposit.id as position');
    const isOfMany = filter.asset !== undefined || filter.state !== undefined;
    const newest = isOfMany
      ? some.where(negationOf('deposit.id'), '>', -before).orderBy(negationOf('deposit.id'))
      : some.where('deposit.id', '<', before).orderBy('deposit.id', 'desc');
    return mapPage(await readPage(newest, filter), ({ position: _position, ...row }) => row);
  }

  /**
   * Finalized deposits without a quorum, except these ids. Creditable ones come first, so that others do not delay
   * them. Up to half are the newest, so that deposits that one node invents delay no later ones.
   */
  async unconfirmed(limit: number, except: readonly bigint[] = []): Promise<readonly DepositRow[]> {
    const others = selectDeposits(this.db)
      .where(UNCONFIRMED)
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

  /** The deposits among `ids` that are finalized and that no quorum has confirmed. */
  async unconfirmedAmong(ids: readonly bigint[]): Promise<readonly DepositRow[]> {
    if (ids.length === 0) return [];
    return selectDeposits(this.db).where(UNCONFIRMED).where('deposit.id', '=', anyOfNumbers(ids)).execute();
  }

  /**
   * Ends finalized deposits with a quorum's verdict and closes their alerts. A deposit that the scan read
   * differently is corrected, with an alert; rows that changed meanwhile are skipped. Returns the ids that ended.
   * Throws ScanPaused.
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
      await raiseUnowned(
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
   * Announces creditable inflows of confirmed blocks above the cursor. Idempotent. Each is finalized with its block,
   * or dropped when the cursor passes it. Throws ScanPaused.
   */
  async announce(blocks: readonly FoundBlock[]): Promise<void> {
    const notices = blocks.flatMap(({ header: { slot, blockhash, time }, finding }) =>
      finding.inflows
        .filter(({ reason }) => reason === null)
        .map((inflow) => ({ ...inflow, slot, blockhash, time })),
    );
    if (notices.length === 0) return;
    await this.db.transaction().execute(async (trx) => {
      // The cursor must not pass the block before the announcement is committed and can be dropped.
      const cursor = await lockUnpausedCursor(trx);
      const feed = await lockFeed(trx);
      const rows = await trx
        .selectFrom('deposit')
        .select(['signature', 'slot', 'account', 'asset'])
        .where('signature', '=', anyOf(notices.map(({ signature }) => signature)))
        .execute();
      const stored = new Set(rows.map(depositKey));
      const fresh = notices
        .filter((one) => one.slot > (cursor ?? one.slot) && !stored.has(depositKey(one)))
        .map((one) => [depositKey(one), one] as const);
      const announced = [...new Map(fresh).values()];
      await holdWallets(feed, announced);
      for (const part of chunksOf(announced, ROWS_AT_ONCE))
        await appendEvents(feed, await addDeposits(feed, part, { finalized: false }));
    });
  }
}

/** Raises an alert for each of these deposits that is final and arrived at a user's address before its assignment. */
async function raiseUnowned(trx: Trx, ids: readonly bigint[]): Promise<void> {
  const rows = await trx
    .selectFrom('deposit')
    .innerJoin('depositAddress', 'depositAddress.address', 'deposit.wallet')
    .select(['signature', 'slot', 'account', 'wallet', 'asset', 'amount', 'userRef', 'assignedAfter'])
    .where('deposit.id', '=', anyOfNumbers(ids))
    .where('deposit.state', '=', 'final')
    .where('userRef', 'is not', null)
    .where(OWNER, 'is', null)
    .execute();
  for (const row of rows) {
    const { signature, slot, wallet, asset, amount, userRef, assignedAfter } = row;
    await raiseAlert(trx, {
      kind: 'deposit_unowned',
      subject: depositId(row),
      message: `${wallet} received ${amount} base units of ${asset} in slot ${slot}, before its assignment to ${userRef}: the deposit has no owner`,
      details: { signature, wallet, slot: `${slot}`, assignedAfter: `${assignedAfter}`, amount: `${amount}` },
    });
  }
}
