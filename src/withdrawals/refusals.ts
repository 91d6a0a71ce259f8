import { type ErrorCode, isDomainError } from '../domain/errors.ts';
import type { WithdrawalRow } from '../ledger/withdrawals/withdrawals.ts';
import type { Refusal } from '../settlement/kind.ts';
import { TransferWouldFail } from '../solana/tx/compute-limit.ts';
import { describeFailure } from '../solana/tx/failure-causes.ts';
import { checkNativeSides } from './balance-guard.ts';
import type { Payee } from './payee.ts';

/** Errors about what the customer asked for, or about the token, on which a quorum agrees: no retry heals them. */
const REJECTIONS: Partial<Record<ErrorCode, string>> = {
  AssetRejected: 'asset_rejected',
  DestinationRejected: 'destination_rejected',
  AmountRejected: 'amount_rejected',
};

/**
 * The refusal that an error means. Any other error that no retry heals, such as SigningRefused, is a fault of our own: the withdrawal is
 * held, and goes on once composing works. Throws an error that may pass, and one that nobody expected.
 */
export function refusalOf(error: unknown): Refusal {
  if (!isDomainError(error) || error.retryable) throw error;
  const { code, message } = error;
  // The one request that can be too large for a packet.
  const isTooLarge = code === 'InvalidRequest' && error.context['field'] === 'memo';
  const rejection = isTooLarge ? 'invalid_request' : REJECTIONS[code];
  if (rejection !== undefined) return { kind: 'rejected', reason: { code: rejection, message } };
  return { kind: 'held', reason: { code: 'cannot_prepare', message } };
}

/** No limit can be found for a transfer of tokens that are not there, so the finalized balance is asked first. */
export function tokenShortage({ asset, amount }: WithdrawalRow, { token }: Payee): Refusal | null {
  if (token === null || token.hotAmount >= amount) return null;
  return awaitFunds(
    `the hot wallet has ${token.hotAmount} of ${amount} base units of ${asset} that are needed`,
  );
}

/** The error of a transfer that was tried and failed; throws any other. */
export function wouldFail(error: unknown): TransferWouldFail {
  if (error instanceof TransferWouldFail) return error;
  throw error;
}

/** A program's no is for ever. Money that only the newest block lacks has just left, by whatever hand: finality will tell. */
export function failureRefusal({ kind, error, tried }: TransferWouldFail): Refusal {
  const message = describeFailure(error, tried);
  if (kind === 'short') return awaitFunds(`the hot wallet lacks the money in the newest block: ${message}`);
  return { kind: 'rejected', reason: { code: 'would_fail', message } };
}

function awaitFunds(message: string): Refusal {
  return { kind: 'awaiting_funds', reason: { code: 'insufficient_funds', message } };
}

/** Neither side may break the chain's rule on minimum balances; see {@link checkNativeSides}. */
export function nativeRefusal(
  row: WithdrawalRow,
  payee: Payee,
  feeLamports: bigint,
  rentMinimumLamports: bigint,
): Refusal | null {
  const answer = checkNativeSides({
    hotLamports: payee.hotLamports,
    amountLamports: payee.token === null ? row.amount : 0n,
    feeLamports,
    rentLamports: payee.token?.rentLamports ?? 0n,
    rentMinimumLamports,
  });
  if (answer.ok) return null;
  return { kind: answer.kind === 'funds' ? 'awaiting_funds' : 'rejected', reason: answer.reason };
}
