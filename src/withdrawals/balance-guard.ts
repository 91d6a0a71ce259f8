import { formatLamports } from '../domain/amount.ts';
import type { StatusReason } from '../domain/settlement.ts';

/** Both sides of a transfer in lamports, from finalized accounts. `amountLamports` is 0 for a token withdrawal. */
export interface NativeSides {
  /** The finalized balance. Amounts reserved by other withdrawals are subtracted when the money is reserved. */
  readonly hotLamports: bigint;
  readonly amountLamports: bigint;
  /** Base fee plus priority fee, charged on success and on failure. */
  readonly feeLamports: bigint;
  /** Other lamports that leave the hot wallet, such as the rent of a new token account. */
  readonly rentLamports: bigint;
  /** The chain's rent-exempt minimum for an account of 0 bytes. */
  readonly rentMinimumLamports: bigint;
}

/** `funds`: wait until the hot wallet is funded. `amount`: the amount can never be paid. */
export type NativeSidesAnswer =
  | { readonly ok: true }
  | { readonly ok: false; readonly kind: 'funds' | 'amount'; readonly reason: StatusReason };

/**
 * Checks that each side keeps either nothing or the rent minimum; the chain rejects other transactions after charging
 * the fee. The fee payer keeps exactly the fee, or at least fee + rent minimum (docs/interface.md, Limits).
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
