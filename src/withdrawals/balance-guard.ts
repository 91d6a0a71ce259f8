import { formatLamports } from '../domain/amount.ts';
import type { StatusReason } from '../domain/settlement.ts';

/** Both sides of a transfer in lamports, as read from the finalized chain. A token withdrawal has `amountLamports` 0. */
export interface NativeSides {
  /** Its finalized balance; what other withdrawals reserved is taken off where the money is reserved. */
  readonly hotLamports: bigint;
  readonly amountLamports: bigint;
  /** The whole fee, base and priority: charged on success and on failure. */
  readonly feeLamports: bigint;
  /** Other lamports that leave the hot wallet, such as the rent of a token account to create. */
  readonly rentLamports: bigint;
  /** The chain's own minimum for an account of 0 bytes. */
  readonly rentMinimumLamports: bigint;
}

/** `funds`: waits until the hot wallet is funded. `amount`: can never be paid as asked. */
export type NativeSidesAnswer =
  | { readonly ok: true }
  | { readonly ok: false; readonly kind: 'funds' | 'amount'; readonly reason: StatusReason };

/**
 * Neither side may be left with more than nothing and less than the rent minimum: the chain refuses such a transaction
 * after charging for it. The fee payer keeps exactly the fee, or at least fee + rent minimum (docs/interface.md, Limits).
 */
export function checkNativeSides(sides: NativeSides): NativeSidesAnswer {
  const minimum = sides.rentMinimumLamports;
  if (sides.amountLamports !== 0n && sides.amountLamports < minimum) {
    return refuse(
      'amount',
      'amount_below_minimum',
      `the amount of ${formatLamports(sides.amountLamports)} SOL is below the chain's minimum of ${formatLamports(minimum)}`,
    );
  }
  const needed = sides.amountLamports + sides.feeLamports + sides.rentLamports;
  const left = sides.hotLamports - needed;
  if (left < 0n) {
    return refuse(
      'funds',
      'insufficient_funds',
      `the hot wallet has ${formatLamports(sides.hotLamports)} of ${formatLamports(needed)} SOL that are needed`,
    );
  }
  if (left > 0n && left < minimum) {
    return refuse(
      'funds',
      'hot_wallet_below_minimum',
      `the hot wallet would keep ${formatLamports(left)} SOL, less than the chain's minimum of ${formatLamports(minimum)}`,
    );
  }
  return { ok: true };
}

function refuse(kind: 'funds' | 'amount', code: string, message: string): NativeSidesAnswer {
  return { ok: false, kind, reason: { code, message } };
}
