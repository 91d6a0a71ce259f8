import { formatLamports } from '../domain/amount.ts';
import { type ErrorCode, isDomainError } from '../domain/errors.ts';
import type { WithdrawalRow } from '../ledger/withdrawals/withdrawals.ts';
import type { Refusal } from '../settlement/kind.ts';
import { TransferWouldFail } from '../solana/tx/compute-limit.ts';
import { describeFailure } from '../solana/tx/failure-causes.ts';
import type { Payee } from './payee.ts';

/** Permanent errors about the customer's request or the token, agreed by a quorum. */
const REJECTIONS: Partial<Record<ErrorCode, string>> = {
  AssetRejected: 'asset_rejected',
  DestinationRejected: 'destination_rejected',
  AmountRejected: 'amount_rejected',
};

/**
 * Maps a permanent error to a refusal; rethrows others. Permanent errors that are not {@link REJECTIONS},
 * such as SigningRefused, are our own faults: the withdrawal is held until composing works.
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

/** Checks the finalized balance first: the simulation of a transfer without the tokens finds no compute-unit limit. */
export function tokenShortage({ asset, amount }: WithdrawalRow, { token }: Payee): Refusal | null {
  if (token === null || token.hotAmount >= amount) return null;
  return awaitFunds(
    `the hot wallet has ${token.hotAmount} of ${amount} base units of ${asset} that are needed`,
  );
}

/** Returns the error of a simulated transfer that failed; rethrows any other error. */
export function wouldFail(error: unknown): TransferWouldFail {
  if (error instanceof TransferWouldFail) return error;
  throw error;
}

/** A program's failure is permanent. Money that only the newest block lacks has just left: finality decides. */
export function failureRefusal({ kind, error, simulatedMessage }: TransferWouldFail): Refusal {
  const message = describeFailure(error, simulatedMessage);
  if (kind === 'short') return awaitFunds(`the hot wallet lacks the money in the newest block: ${message}`);
  return { kind: 'rejected', reason: { code: 'would_fail', message } };
}

function awaitFunds(message: string, code = 'insufficient_funds'): Refusal {
  return { kind: 'awaiting_funds', reason: { code, message } };
}

/** Applies {@link checkNativeSides} to a withdrawal. */
export function nativeRefusal(
  row: WithdrawalRow,
  payee: Payee,
  feeLamports: bigint,
  rentMinimumLamports: bigint,
): Refusal | null {
  return checkNativeSides({
    hotLamports: payee.hotLamports,
    amountLamports: payee.token === null ? row.amount : 0n,
    feeLamports,
    rentLamports: payee.token?.rentLamports ?? 0n,
    rentMinimumLamports,
  });
}

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

/**
 * Checks that each side keeps either nothing or the rent minimum; the chain rejects other transactions after charging
 * the fee. The fee payer keeps exactly the fee, or at least fee + rent minimum (docs/interface.md, Limits). Rejects an
 * amount that can never be paid; otherwise the withdrawal waits until the hot wallet is funded.
 */
export function checkNativeSides(sides: NativeSides): Refusal | null {
  const { hotLamports, amountLamports, rentMinimumLamports: minimum } = sides;
  if (amountLamports !== 0n && amountLamports < minimum) {
    const message = `the amount of ${formatLamports(amountLamports)} SOL is below the chain's minimum of ${formatLamports(minimum)}`;
    return { kind: 'rejected', reason: { code: 'amount_below_minimum', message } };
  }
  const needed = amountLamports + sides.feeLamports + sides.rentLamports;
  const left = hotLamports - needed;
  if (left < 0n)
    return awaitFunds(
      `the hot wallet has ${formatLamports(hotLamports)} of ${formatLamports(needed)} SOL that are needed`,
    );
  if (left === 0n || left >= minimum) return null;
  return awaitFunds(
    `the hot wallet would keep ${formatLamports(left)} SOL, less than the chain's minimum of ${formatLamports(minimum)}`,
    'hot_wallet_below_minimum',
  );
}
