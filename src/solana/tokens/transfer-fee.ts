import { getEpochFee } from '../../shims/spl-token.ts';
import type { MintInfo } from './mint.ts';

/** Base units withheld when `amount` leaves a wallet in `epoch`; null if the mint has no transfer fee. */
export function transferFee(mint: MintInfo, amount: bigint, epoch: bigint): bigint | null {
  if (mint.transferFee === null) return null;
  const rate = getEpochFee(mint.transferFee, epoch);
  const raw = (amount * BigInt(rate.transferFeeBasisPoints) + 9_999n) / 10_000n;
  return raw > rate.maximumFee ? rate.maximumFee : raw;
}
