import { SETTLEMENT_STATUSES, type SettlementStatus, type StatusReason } from './settlement.ts';

/** States of a withdrawal. Sluice composes its message, so a dead attempt never ends it. */
export type WithdrawalStatus = Exclude<SettlementStatus, 'dead'>;

export const WITHDRAWAL_STATUSES: readonly WithdrawalStatus[] =
  SETTLEMENT_STATUSES.filter(isWithdrawalStatus);

export function isWithdrawalStatus(status: SettlementStatus): status is WithdrawalStatus {
  return status !== 'dead';
}

/** The customer's request. Every field is a JSON scalar, so that it can enter a Temporal history. */
export interface WithdrawalTerms {
  /** 1-128 characters of `[A-Za-z0-9._:-]`. */
  readonly id: string;
  /** `SOL` or the base58 address of a mint. */
  readonly asset: string;
  /** Base units (lamports or token base units), decimal, 1 to 2^64-1. */
  readonly amount: string;
  /** Base58 address of the receiving wallet (never a token account). */
  readonly destination: string;
  /** Pay even if the wallet is empty. Default false: such a withdrawal waits for `confirmDestination`. */
  readonly acceptEmptyWallet?: boolean;
  /** UTF-8, at most 200 bytes; written on chain by the Memo program. */
  readonly memo?: string;
}

export const CANCELLED: StatusReason = {
  code: 'cancelled_by_request',
  message: 'cancelled by request, with nothing of it on its way',
};
