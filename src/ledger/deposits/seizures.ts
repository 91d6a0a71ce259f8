import type { Outflow } from '../../domain/deposit.ts';
import { SOL } from '../../domain/deposit-asset.ts';
import { anyOf, type Trx } from '../database.ts';
import { raiseAlert } from '../operations/alerts.ts';

/**
 * Raises an alert for tokens that left without the owner's signature: only a delegate can move them, and Sluice
 * approves none. At deposit addresses only listed assets count, because anyone can send worthless tokens there and
 * take them back.
 */
export async function alertSeizures(
  trx: Trx,
  outflows: readonly (Outflow & { readonly slot: bigint })[],
): Promise<void> {
  const seized = outflows.filter(({ ownerSigned, asset }) => !ownerSigned && asset !== SOL);
  if (seized.length === 0) return;
  const assets = await trx
    .selectFrom('asset')
    .select(['asset', 'permanentDelegate'])
    .where('asset', '=', anyOf(seized.map(({ asset }) => asset)))
    .execute();
  const hotWallets = await trx
    .selectFrom('watchedWallet')
    .select('address')
    .where('address', '=', anyOf(seized.map(({ wallet }) => wallet)))
    .where('kind', '=', 'hot')
    .execute();
  const delegates = new Map(assets.map(({ asset, permanentDelegate }) => [asset, permanentDelegate]));
  const hotAddresses = new Set(hotWallets.map(({ address }) => address));
  for (const { signature, slot, account, wallet, asset, amount } of seized) {
    if (!delegates.has(asset) && !hotAddresses.has(wallet)) continue;
    const permanentDelegate = delegates.get(asset) ?? null;
    const taker = permanentDelegate === null ? 'a delegate' : `the permanent delegate ${permanentDelegate}`;
    await raiseAlert(trx, {
      kind: 'tokens_seized',
      subject: account,
      message: `${taker} took ${amount} base units of ${asset} from ${account} of ${wallet} by transaction ${signature}, which ${wallet} did not sign`,
      details: { signature, slot: `${slot}`, wallet, asset, amount: `${amount}`, permanentDelegate },
    });
  }
}
