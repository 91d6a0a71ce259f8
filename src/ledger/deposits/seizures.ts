import type { Transaction } from 'kysely';
import { SOL } from '../../domain/deposit-asset.ts';
import type { Tables } from '../database.ts';
import { raiseAlert } from '../operations/alerts.ts';
import type { ConfirmedOutflow } from './outflows.ts';

/**
 * Raises an alert if tokens left without the owner's signature: only a delegate can do that, and we approve none. At
 * deposit addresses only listed assets count: any worthless token may arrive there and be taken back.
 */
export async function alertSeizure(
  trx: Transaction<Tables>,
  { row, amount, ownerSigned, by }: ConfirmedOutflow,
): Promise<void> {
  const { signature, slot, account, wallet, asset } = row;
  if (ownerSigned || amount === 0n || asset === SOL) return;
  const listed = await trx
    .selectFrom('asset')
    .select('permanentDelegate')
    .where('asset', '=', asset)
    .executeTakeFirst();
  if (listed === undefined && !(await isHot(trx, wallet))) return;
  const { permanentDelegate = null } = listed ?? {};
  const taker = permanentDelegate === null ? 'a delegate' : `the permanent delegate ${permanentDelegate}`;
  await raiseAlert(trx, {
    kind: 'tokens_seized',
    subject: account,
    message: `${taker} took ${amount} base units of ${asset} from ${account} of ${wallet} by ${signature}: ${wallet} did not sign it`,
    details: {
      signature,
      slot: slot.toString(),
      wallet,
      asset,
      amount: amount.toString(),
      permanentDelegate,
      by,
    },
  });
}

async function isHot(trx: Transaction<Tables>, wallet: string): Promise<boolean> {
  const watched = await trx
    .selectFrom('watchedWallet')
    .select('kind')
    .where('address', '=', wallet)
    .executeTakeFirst();
  return watched?.kind === 'hot';
}
