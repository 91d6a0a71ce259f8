import { sql } from 'kysely';
import { WHOLE } from '../../domain/alerts.ts';
import type { DepositAddressState } from '../../domain/deposit.ts';
import type { Trx } from '../database.ts';
import { raiseAlert } from '../operations/alerts.ts';

/**
 * True if it is certain whether a `deposit_address` has a user: its position is above those whose users a restore may
 * have lost.
 */
export const IS_USER_CERTAIN = sql<boolean>`deposit_address.position >
  coalesce((select withheld_up_to from continuity), 0)`;

/**
 * State of a `deposit_address`. Instead of `auditing` or `free`, the state is `withheld` if a restore may have lost
 * the user.
 */
export const ADDRESS_STATE = sql<DepositAddressState>`case when deposit_address.state in ('auditing', 'free') and not ${IS_USER_CERTAIN}
  then 'withheld' else deposit_address.state end`;

/**
 * Withholds every unassigned address permanently: the newer database that this backup replaced may have assigned it.
 * Withheld addresses stay watched.
 */
export async function withholdUnassigned(trx: Trx): Promise<void> {
  const { hasUnassigned, upTo } = await trx
    .selectNoFrom([
      sql<boolean>`exists (select 1 from deposit_address where state = 'free')
        or exists (select 1 from deposit_address where audit_due and state = 'auditing')`.as('hasUnassigned'),
      sql<bigint>`coalesce((select max(position) from deposit_address), 0)`.as('upTo'),
    ])
    .executeTakeFirstOrThrow();
  await trx.updateTable('continuity').set({ withheldUpTo: upTo }).execute();
  if (!hasUnassigned) return;
  await raiseAlert(trx, {
    kind: 'addresses_withheld',
    subject: WHOLE,
    message: `the database was restored: unassigned deposit addresses up to position ${upTo} may already belong to users, so none of them will be assigned. Import new addresses`,
    details: { upTo: upTo.toString() },
  });
}
