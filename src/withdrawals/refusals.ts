import { formatLamports } from '../domain/amount.ts';
import { type ErrorCode, isDomainError } from '../domain/errors.ts';
import type { WithdrawalRow } from '../ledger/withdrawals/withdrawals.ts';
import type { Refusal } from '../settlement/kind.ts';
import { TransferWouldFail } from '../solana/tx/compute-limit.ts';
import { describeFailure } from '../solana/tx/failure-causes.ts';
import type { Payee } from './payee.ts';

/**
 * Permanent errors about the request of the customer or about the token, with their reason codes. A quorum agrees on
 * the facts.
 */
const REJECTIONS: Partial<Record<ErrorCode, string>> = {
  AssetRejected: 'asset_rejected',
  DestinationRejected: 'destination_rejected',
  AmountRejected: 'amount_rejected',
};

/**
 * Returns the refusal for a permanent error; rethrows any other error. Permanent errors that are not in {@link
 * REJECTIONS}, such as SigningRefused, are our own faults: the withdrawal is held until it can be composed.
 */
export function refusalOf(error: unknown): Refusal {
  if (!isDomainError(error) || error.retryable) throw error;
  const { code, message } = error;
  // Only a memo can make a transfer too large for a packet.
  const isTooLarge = code === 'InvalidRequest' && error.context['field'] === 'memo';
  const rejection = isTooLarge ? 'invalid_request' : REJECTIONS[code];
  if (rejection !== undefined) return { kind: 'rejected', reason: { code: rejection, message } };
  return { kind: 'held', reason: { code: 'cannot_prepare', message } };
}

/**
 * Checks the finalized token balance. This comes before the simulation, which finds no compute-unit limit without the
 * tokens.
 */
export function tokenShortage({ asset, amount }: WithdrawalRow, { token }: Payee): Refusal | null {
  if (token === null || token.hotAmount >= amount) return null;
  return awaitFunds(
    `the hot wallet has ${token.hotAmount} base units of ${asset}, but the withdrawal needs ${amount}`,
  );
}

/** Returns the error of a simulated transfer that failed; rethrows any other error. */
export function simulationFailure(error: unknown): TransferWouldFail {
  if (error instanceof TransferWouldFail) return error;
  throw error;
}

/**
 * Refusal for a simulated transfer that failed. A failure of a program is permanent. If the money is missing only in
 * the newest block, the withdrawal waits for finality.
 */
export function failureRefusal({ kind, error, simulatedMessage }: TransferWouldFail): Refusal {
  const message = describeFailure(error, simulatedMessage);
  if (kind === 'short')
    return awaitFunds(`in the newest block, the hot wallet does not have enough funds: ${message}`);
  return { kind: 'rejected', reason: { code: 'would_fail', message } };
}

function awaitFunds(message: string, code = 'insufficient_funds'): Refusal {
  return { kind: 'awaiting_funds', reason: { code, message } };
}

export function nativeRefusal(
  row: WithdrawalRow,
  payee: Payee,
  feeLamports: bigint,
  rentMinimumLamports: bigint,
): Refusal | null {
  return checkNativeBalances({
    hotLamports: payee.hotLamports,
    amountLamports: payee.token === null ? row.amount : 0n,
    feeLamports,
    rentLamports: payee.token?.rentLamports ?? 0n,
    rentMinimumLamports,
  });
}

/**
 * Input of {@link checkNativeBalances}, in lamports, from finalized accounts. `amountLamports` is 0 for a token
 * withdrawal.
 */
export interface NativeBalances {
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

/**
 * Checks that hot wallet and destination have either nothing or at least the rent minimum afterwards: the chain
 * rejects any other transfer, after charging the fee. The fee payer must have exactly the fee, or at least the fee
 * plus the rent minimum (docs/interface.md, Limits). An amount that can never be paid is rejected; otherwise the
 * withdrawal waits until the hot wallet is funded.
 */
export function checkNativeBalances(balances: NativeBalances): Refusal | null {
  const { hotLamports, amountLamports, rentMinimumLamports: minimum } = balances;
  if (amountLamports !== 0n && amountLamports < minimum) {
    const message = `the amount of ${formatLamports(amountLamports)} SOL is below the chain's minimum of ${formatLamports(minimum)}`;
    return { kind: 'rejected', reason: { code: 'amount_below_minimum', message } };
  }
  const needed = amountLamports + balances.feeLamports + balances.rentLamports;
  const remaining = hotLamports - needed;
  if (remaining < 0n)
    return awaitFunds(
      `the hot wallet has ${formatLamports(hotLamports)} SOL, but the withdrawal needs ${formatLamports(needed)} SOL`,
    );
  if (remaining === 0n || remaining >= minimum) return null;
  return awaitFunds(
    `the hot wallet would keep ${formatLamports(remaining)} SOL, less than the chain's minimum of ${formatLamports(minimum)}`,
    'hot_wallet_below_minimum',
  );
}
