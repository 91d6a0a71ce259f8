import { sql } from 'kysely';
import { IMPORTS_SUBJECT } from '../../domain/audit.ts';
import type { Slots } from '../../domain/scan.ts';
import { anyOf, exists, Repository, type Tables, type Trx } from '../database.ts';
import { type DepositAddressRow, depositAddressRows } from '../deposits/deposit-address-row.ts';
import { NEWEST_FINAL_SLOT } from '../deposits/deposit-row.ts';
import { closeAlerts } from '../operations/alerts.ts';
import { isSameDatabase } from '../operations/restore-detection.ts';
import { nextRetryAt } from '../retry-after.ts';

const NO_RETRY = { unreadSince: null, auditAfter: null } as const;

const SUBJECT_PATTERN = sql.lit(IMPORTS_SUBJECT);

/** True for an `alert` about imports from a slot on if none of those addresses needs an audit any longer. */
const HAS_NO_DUE_AUDIT = sql<boolean>`(alert.subject ~ ${SUBJECT_PATTERN} and not exists (
  select from deposit_address due where due.audit_due and due.since = substring(alert.subject from ${SUBJECT_PATTERN})::bigint))`;

/**
 * Newest final slot at the import of a `deposit_address`. When the scan has reached it, all blocks to audit are final.
 */
const IMPORTED_AFTER = sql<bigint>`coalesce(deposit_address.imported_after, 0)`;

/**
 * Audits of imported addresses. An audit is due until nodes have returned the address's whole history from `since` on.
 * Results apply only to the database with the id `databaseId`: a restore may have undone what the audit stored.
 */
export class ImportAudits extends Repository {
  /**
   * Addresses to audit now: first those never tried, then those tried the longest time ago. An audit waits until the
   * scan has passed the slot of the import and has committed the ranges that were staged without the address.
   */
  async listDue(limit: number): Promise<readonly DepositAddressRow[]> {
    const cursor = await this.db.selectFrom('scanCursor').select('slot').executeTakeFirst();
    // All addresses of an import become due together, so one index lookup avoids sorting millions that are not due.
    if (cursor === undefined || !(await this.#isAnyReached(cursor.slot))) return [];
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

  async #isAnyReached(slot: bigint): Promise<boolean> {
    return exists(
      this.db
        .selectFrom('depositAddress')
        .select('position')
        .where('auditDue', '=', true)
        .where(IMPORTED_AFTER, '<=', slot)
        .limit(1),
    );
  }

  /** Records that audits of these addresses have begun, so that other addresses come first in the next round. */
  async noteTried(addresses: readonly string[]): Promise<void> {
    await this.db
      .updateTable('depositAddress')
      .set({ auditTriedAt: sql<Date>`now()` })
      .where('address', '=', anyOf(addresses))
      .where('auditDue', '=', true)
      .execute();
  }

  /** Schedules the retry of an incomplete audit, at growing intervals. */
  async scheduleRetry(address: string, databaseId: string): Promise<void> {
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

  /** Ends the audit of these slots. An `auditing` address becomes `free`, unless an audit of more slots is due. */
  async markAudited(address: string, { from, to }: Slots, databaseId: string): Promise<void> {
    await this.db.transaction().execute(async (trx) => {
      if (!(await isSameDatabase(trx, databaseId))) return;
      await trx
        .updateTable('depositAddress')
        .set({ auditDue: false, state: replaceState('auditing', 'free'), ...NO_RETRY })
        .where('address', '=', address)
        .where('since', '=', from)
        .where('auditDue', '=', true)
        .where(sql<boolean>`coalesce(imported_after, 0) <= ${to}`)
        .execute();
      await closeAlerts(trx, (row) => row.and([row('kind', '=', 'audit_incomplete'), HAS_NO_DUE_AUDIT]));
    });
  }
}

/**
 * Requests audits from slot `since` on for addresses without one. Free addresses cannot be assigned until their audit
 * has ended. All due audits of `addresses` wait until the scan has reached `tip` and the newest slot known to be final.
 */
export async function requestAudits(
  trx: Trx,
  addresses: readonly string[],
  since: bigint,
  tip: bigint | null,
): Promise<void> {
  await trx
    .updateTable('depositAddress')
    .set({ state: replaceState('free', 'auditing'), since, auditDue: true, ...NO_RETRY })
    .where('address', '=', anyOf(addresses))
    .where((row) => row.or([row('since', 'is', null), row('since', '>', since)]))
    .execute();
  await trx
    .updateTable('depositAddress')
    .set({
      importedAfter: sql<bigint | null>`greatest(imported_after, ${tip}::bigint, ${NEWEST_FINAL_SLOT})`,
    })
    .where('address', '=', anyOf(addresses))
    .where('auditDue', '=', true)
    .execute();
}

type AddressState = Tables['depositAddress']['state'];

function replaceState(from: AddressState, to: AddressState) {
  return sql<AddressState>`case when state = ${from} then ${to} else state end`;
}
