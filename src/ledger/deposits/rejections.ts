import { sql } from 'kysely';
import { DomainError } from '../../domain/errors.ts';
import { exists, Repository, type Trx } from '../database.ts';
import { closeAlert, raiseAlert } from '../operations/alerts.ts';
import { appendEvents, type FeedTransaction, lockFeed } from './deposit-feed.ts';
import { depositId } from './deposit-id.ts';
import { type DepositRow, IS_UNCONFIRMED, selectDeposits } from './deposit-row.ts';
import type { WrittenDeposit } from './deposit-writing.ts';

/**
 * An operator's rejection of a deposit. `deniedBy`: names of the quorum's nodes that do not have it. `row`: the
 * deposit as it was when the nodes were asked.
 */
export interface Rejection {
  readonly row: DepositRow;
  readonly actor: string;
  readonly reason: string;
  readonly deniedBy: readonly string[];
}

/**
 * Rejects deposits that one node invented. A rejection needs an operator's command and a quorum that denies the
 * deposit.
 */
export class Rejections extends Repository {
  /**
   * Drops the deposit. The feed gets an event only if it already has one of this deposit. If a block with the deposit
   * is read again, the deposit needs a new quorum, and an alert is raised. Throws NotRejectable if the deposit has
   * changed or ended.
   */
  async reject({ row, actor, reason, deniedBy }: Rejection): Promise<DepositRow> {
    await this.db.transaction().execute(async (trx) => {
      const feed = await lockFeed(trx);
      const dropped = await dropDeposit(feed, row);
      await trx
        .insertInto('depositRejection')
        .values({ depositId: row.id, actor, reason, deniedBy: deniedBy.join(', ') })
        .execute();
      if (await wasAnnounced(trx, row)) await appendEvents(feed, [dropped]);
      const [kind, subject] = ['deposit_unconfirmed' as const, depositId(row)];
      const message = `${actor} rejected the deposit of ${row.amount} base units of ${row.asset} to ${row.account}: ${deniedBy.join(', ')} do not have it. Reason: ${reason}`;
      await raiseAlert(trx, { kind, subject, message, details: { actor, reason, deniedBy } });
      await closeAlert(trx, kind, subject);
    });
    return selectDeposits(this.db).where('deposit.id', '=', row.id).executeTakeFirstOrThrow();
  }
}

async function dropDeposit(trx: FeedTransaction, row: Rejection['row']): Promise<WrittenDeposit> {
  const { id, amount, reason } = row;
  const dropped = await trx
    .updateTable('deposit')
    .set({ state: 'dropped', reason: null, updatedAt: sql<Date>`now()` })
    .where('id', '=', id)
    .where('amount', '=', amount)
    .where('reason', 'is not distinct from', reason)
    .where(IS_UNCONFIRMED)
    .returning(['id', 'state', 'amount', 'reason'])
    .executeTakeFirst();
  if (dropped !== undefined) return dropped;
  const message = `deposit ${depositId(row)} changed while the nodes were asked: check it again before you reject it`;
  throw new DomainError('NotRejectable', message);
}

async function wasAnnounced(trx: Trx, { id }: Rejection['row']): Promise<boolean> {
  return exists(trx.selectFrom('depositEvent').select('sequence').where('depositId', '=', id).limit(1));
}
