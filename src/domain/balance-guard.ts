import type { StatusReason } from './withdrawal.ts';

/** Both sides of a transfer in lamports, as read from the finalized chain. A token withdrawal has `amountLamports` 0. */
export interface NativeSides {
  /** What the hot wallet can dispose of: its balance less what other withdrawals reserved. */
  readonly hotLamports: bigint;
  readonly amountLamports: bigint;
  /** The whole fee, base and priority: charged on success and on failure. */
  readonly feeLamports: bigint;
  /** Other lamports that leave the hot wallet, such as the rent of a token account to create. */
  readonly rentLamports: bigint;
  readonly destinationLamports: bigint;
  /** The chain's own minimum for an account of 0 bytes. */
  readonly rentMinimumLamports: bigint;
}

/** `funds`: waits until the hot wallet is funded. `amount`: can never be paid as asked. */
export type NativeSidesAnswer =
  | { readonly ok: true }
  | { readonly ok: false; readonly kind: 'funds' | 'amount'; readonly reason: StatusReason };

/**
 * Neither side may be left with more than nothing and less than the rent minimum: the chain refuses such a transaction
 * after charging for it. The fee payer keeps exactly the fee, or at least fee + rent minimum (exchange-interface: Limits).
 */
export function checkNativeSides(sides: NativeSides): NativeSidesAnswer {
  const minimum = sides.rentMinimumLamports;
  if (sides.amountLamports !== 0n && sides.amountLamports < minimum) {
    return refuse(
      'amount',
      'amount_below_minimum',
      `the amount ${sides.amountLamports} is below the chain's minimum of ${minimum} lamports`,
    );
  }
  const received = sides.destinationLamports + sides.amountLamports;
  if (sides.amountLamports !== 0n && received < minimum) {
    return refuse(
      'amount',
      'destination_below_minimum',
      `the destination would hold ${received} lamports, less than the chain's minimum of ${minimum}`,
    );
  }
  const needed = sides.amountLamports + sides.feeLamports + sides.rentLamports;
  const left = sides.hotLamports - needed;
  if (left < 0n) {
    return refuse(
      'funds',
      'insufficient_funds',
      `the hot wallet has ${sides.hotLamports} of ${needed} lamports that are needed`,
    );
  }
  if (left > 0n && left < minimum) {
    return refuse(
      'funds',
      'hot_wallet_below_minimum',
      `the hot wallet would keep ${left} lamports, less than the chain's minimum of ${minimum}`,
    );
  }
  return { ok: true };
}

function refuse(kind: 'funds' | 'amount', code: string, message: string): NativeSidesAnswer {
  return { ok: false, kind, reason: { code, message } };
}
