import { differenceAlarm } from '../../domain/audit.ts';
import { anyOf, type Trx } from '../database.ts';
import { raiseAlert } from '../operations/alerts.ts';
import type { Arrival } from './deposit-merge.ts';

/** Raises an alert for each new arrival whose wallet was watched then: a node lied, or the scan has a defect. */
export async function raiseMissed(trx: Trx, arrivals: readonly Arrival[]): Promise<void> {
  if (arrivals.length === 0) return;
  const wallets = await trx
    .selectFrom('watchedWallet')
    .select(['address', 'watchedAfter'])
    .where('address', '=', anyOf(arrivals.map(({ wallet }) => wallet)))
    .execute();
  const watchedAfter = new Map(wallets.map((row) => [row.address, row.watchedAfter ?? -1n]));
  for (const { signature, slot, account, asset, amount, wallet } of arrivals) {
    const after = watchedAfter.get(wallet);
    if (after === undefined || slot <= after) continue;
    const chain = amount.toString();
    const difference = { signature, slot: slot.toString(), account, asset, chain };
    await raiseAlert(trx, differenceAlarm({ ...difference, record: null, repaired: true }));
  }
}
