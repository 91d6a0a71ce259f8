import { sql } from 'kysely';
import { WHOLE_SYSTEM } from '../../domain/alerts.ts';
import type { DepositAddressState } from '../../domain/deposit.ts';
import type { Trx } from '../database.ts';
import { raiseAlert } from '../operations/alerts.ts';

/** True if a `deposit_address` is above the position up to which a restore may have lost the users of addresses. */
export const IS_SURE = sql<boolean>`deposit_address.position >
  coalesce((select withheld_up_to from continuity), 0)`;

/** State of a `deposit_address`, with `withheld` for those without a user that a restore made unsure. */
export const STATE = sql<DepositAddressState>`case when deposit_address.state in ('auditing', 'free') and not ${IS_SURE}
  then 'withheld' else deposit_address.state end`;

/**
 * Withholds every address without a user for ever: users may have them in the newer database that this backup
 * replaced. They stay watched.
 */
export async function withholdUnassigned(trx: Trx): Promise<void> {
  const { any, upTo } = await trx
    .selectNoFrom([
      sql<boolean>`exists (select 1 from deposit_address where state = 'free')
        or exists (select 1 from deposit_address where audit_due and state = 'auditing')`.as('any'),
      sql<bigint>`coalesce((select max(position) from deposit_address), 0)`.as('upTo'),
    ])
    .executeTakeFirstOrThrow();
  await trx.updateTable('continuity').set({ withheldUpTo: upTo }).execute();
  if (!any) return;
  await raiseAlert(trx, {
    kind: 'addresses_withheld',
    subject: WHOLE_SYSTEM,
    message: `the database was restored: unassigned deposit addresses up to position ${upTo} may already belong to users, so none of them will be assigned. Import new addresses`,
    details: { upTo: upTo.toString() },
  });
}
