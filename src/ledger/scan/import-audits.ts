import { sql } from 'kysely';
import { IMPORTS_SUBJECT } from '../../domain/audit.ts';
import type { Slots } from '../../domain/scan.ts';
import { anyOf, exists, Repository, type Tables, type Trx } from '../database.ts';
import { type DepositAddressRow, depositAddressRows } from '../deposits/deposit-address-row.ts';
import { NEWEST_FINAL } from '../deposits/deposit-row.ts';
import { closeAlerts } from '../operations/alerts.ts';
import { isSameDatabase } from '../operations/restore-detection.ts';
import { nextRetryAt } from '../retry-after.ts';

const NEVER_UNREAD = { unreadSince: null, auditAfter: null } as const;

const SUBJECT = sql.lit(IMPORTS_SUBJECT);

/** An `alert` about the imports since a slot, none of which needs an audit any more. */
const IS_OF_NO_IMPORT = sql<boolean>`(alert.subject ~ ${SUBJECT} and not exists (
  select from deposit_address due where due.audit_due and due.since = substring(alert.subject from ${SUBJECT})::bigint))`;

/** Slot at the import of a `deposit_address`: once the scan reaches it, all blocks to audit are final. */
const IMPORTED_AFTER = sql<bigint>`coalesce(deposit_address.imported_after, 0)`;

/**
 * Each audit is due until nodes have returned everything since the import's slot. Its end changes only the
 * database with the id `databaseId`: a restore may have undone what the audit stored.
 */
export class ImportAudits extends Repository {
  /**
   * First addresses never tried, then those tried the longest time ago. An audit begins once the scan has passed the
   * slot of the import and has committed the ranges that were staged without the address.
   */
  async due(limit: number): Promise<readonly DepositAddressRow[]> {
    const cursor = await this.db.selectFrom('scanCursor').select('slot').executeTakeFirst();
    // The scan passes a new import of millions as a whole: until then, one look at an index suffices.
    if (cursor === undefined || !(await this.#isAnyPassed(cursor.slot))) return [];
    return depositAddressRows(this.db)
      .where('auditDue', '=', true)
      .where(sql<boolean>`coalesce(audit_after <= now(), true)`)
      .where(IMPORTED_AFTER, '<=', cursor.slot)
      .where(sql<boolean>`greatest(since, watched_after) <= ${cursor.slot}`)
      .orderBy('auditTriedAt', (tried) => tried.asc().nullsFirst())
      .orderBy('position')
      .limit(limit)
      .execute();
  }

  async #isAnyPassed(slot: bigint): Promise<boolean> {
    return exists(
      this.db
        .selectFrom('depositAddress')
        .select('position')
        .where('auditDue', '=', true)
        .where(IMPORTED_AFTER, '<=', slot)
        .limit(1),
    );
  }

  /** The audits of these addresses have begun: others come first in the next round. */
  async noteTried(addresses: readonly string[]): Promise<void> {
    await this.db
      .updateTable('depositAddress')
      .set({ auditTriedAt: sql<Date>`now()` })
      .where('address', '=', anyOf(addresses))
      .where('auditDue', '=', true)
      .execute();
  }

  /** The audit has ended incomplete. It is retried, in growing intervals. */
  async putOff(address: string, databaseId: string): Promise<void> {
    const unreadSince = sql<Date>`coalesce(unread_since, now())`;
    await this.db.transaction().execute(async (trx) => {
      if (!(await isSameDatabase(trx, databaseId))) return;
      await trx
        .updateTable('depositAddress')
        .set({ unreadSince, auditAfter: nextRetryAt(unreadSince) })
        .where('address', '=', address)
        .where('auditDue', '=', true)
        .execute();
    });
  }

  /** The slots are audited: the address becomes free, unless it was used, or an earlier or longer audit is due. */
  async markAudited(address: string, { from, to }: Slots, databaseId: string): Promise<void> {
    await this.db.transaction().execute(async (trx) => {
      if (!(await isSameDatabase(trx, databaseId))) return;
      await trx
        .updateTable('depositAddress')
        .set({ auditDue: false, state: insteadOf('auditing', 'free'), ...NEVER_UNREAD })
        .where('address', '=', address)
        .where('since', '=', from)
        .where('auditDue', '=', true)
        .where(sql<boolean>`coalesce(imported_after, 0) <= ${to}`)
        .execute();
      await closeAlerts(trx, (row) => row.and([row('kind', '=', 'audit_incomplete'), IS_OF_NO_IMPORT]));
    });
  }
}

/**
 * Makes addresses due that were not audited from `since` on; free ones cannot be assigned until then. Due audits
 * also wait until the scan has reached `tip` and the newest slot known to be final.
 */
export async function auditSince(
  trx: Trx,
  addresses: readonly string[],
  since: bigint,
  tip: bigint | null,
): Promise<void> {
  await trx
    .updateTable('depositAddress')
    .set({ state: insteadOf('free', 'auditing'), since, auditDue: true, ...NEVER_UNREAD })
    .where('address', '=', anyOf(addresses))
    .where((row) => row.or([row('since', 'is', null), row('since', '>', since)]))
    .execute();
  await trx
    .updateTable('depositAddress')
    .set({ importedAfter: sql<bigint | null>`greatest(imported_after, ${tip}::bigint, ${NEWEST_FINAL})` })
    .where('address', '=', anyOf(addresses))
    .where('auditDue', '=', true)
    .execute();
}

type State = Tables['depositAddress']['state'];

function insteadOf(state: State, other: State) {
  return sql<State>`case when state = ${state} then ${other} else state end`;
}
