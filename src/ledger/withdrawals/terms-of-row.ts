import type { WithdrawalTerms } from '../../domain/withdrawal.ts';
import type { WithdrawalRow } from './withdrawal-row.ts';

/** The terms with which the id was reserved: its workflow must start with them. */
export function termsOf(row: WithdrawalRow): WithdrawalTerms {
  return {
    id: row.id,
    asset: row.asset,
    amount: row.amount.toString(),
    destination: row.destination,
    acceptEmptyWallet: row.acceptEmptyWallet,
    ...(row.memo === null ? {} : { memo: row.memo }),
  };
}
