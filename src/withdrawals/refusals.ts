import { checkNativeSides } from '../domain/balance-guard.ts';
import { type ErrorCode, isDomainError } from '../domain/errors.ts';
import type { StatusReason } from '../domain/settlement.ts';
import type { WithdrawalRow } from '../ledger/withdrawals.ts';
import type { Refusal } from '../settlement/kind.ts';
import { TransferWouldFail } from '../solana/compute-limit.ts';
import { describeFailure } from '../solana/failure-causes.ts';
import type { Payee } from './payee.ts';

/** Errors about the withdrawal itself, which no retry heals. */
const REFUSALS: Partial<Record<ErrorCode, string>> = {
  InvalidRequest: 'invalid_request',
  AssetRejected: 'asset_rejected',
  DestinationRejected: 'destination_rejected',
  AmountRejected: 'amount_rejected',
  SigningRefused: 'signing_policy',
};

/** Why the withdrawal can never be paid, where the error says so; null for an error that may pass. */
export function refusalOf(error: unknown): StatusReason | null {
  const code = isDomainError(error) ? REFUSALS[error.code] : undefined;
  return code === undefined || !isDomainError(error) ? null : { code, message: error.message };
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
