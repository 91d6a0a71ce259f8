import type { WithdrawalTerms } from '../../domain/withdrawal.ts';
import type { WithdrawalRow } from './withdrawal-row.ts';

/** The terms that a row was reserved with: what its workflow must be started with. */
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
