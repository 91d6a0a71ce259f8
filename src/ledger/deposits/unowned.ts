import type { Transaction } from 'kysely';
import { anyOfNumbers, type Tables } from '../database.ts';
import { raiseAlert } from '../operations/alerts.ts';
import { depositId } from './deposit-id.ts';
import { OWNER } from './ownership.ts';

/** Raises an alert for each of these deposits that is final and came to a user's address before its assignment. */
export async function raiseUnowned(trx: Transaction<Tables>, ids: readonly bigint[]): Promise<void> {
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
      message: `${amount} base units of ${asset} came to ${wallet} in slot ${slot}, before it was given to ${userRef}: it is nobody's`,
      details: { signature, wallet, slot: `${slot}`, assignedAfter: `${assignedAfter}`, amount: `${amount}` },
    });
  }
}
