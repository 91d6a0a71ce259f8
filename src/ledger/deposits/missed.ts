import { differenceAlarm } from '../../domain/audit.ts';
import { anyOf, type Trx } from '../database.ts';
import { raiseAlert } from '../operations/alerts.ts';
import type { BlockInflow } from './deposit-merge.ts';

/**
 * Raises an alert for each new inflow whose wallet the scan already watched in that slot. Either a node lied, or the
 * scan has a defect.
 */
export async function alertMissedInflows(trx: Trx, inflows: readonly BlockInflow[]): Promise<void> {
  if (inflows.length === 0) return;
  const wallets = await trx
    .selectFrom('watchedWallet')
    .select(['address', 'watchedAfter'])
    .where('address', '=', anyOf(inflows.map(({ wallet }) => wallet)))
    .execute();
  const watchedAfter = new Map(wallets.map((row) => [row.address, row.watchedAfter ?? -1n]));
  for (const { signature, slot, account, asset, amount, wallet } of inflows) {
    const after = watchedAfter.get(wallet);
    if (after === undefined || slot <= after) continue;
    const chain = amount.toString();
    const difference = { signature, slot: slot.toString(), account, asset, chain };
    await raiseAlert(trx, differenceAlarm({ ...difference, stored: null, repaired: true }));
  }
}
