import { findingOfTransaction, type Ours } from './credits.ts';
import type { Movement, ScannedTransaction } from './deposit.ts';

export type AccountRef = Pick<Movement, 'wallet' | 'account' | 'asset'>;

/** Base units that a transaction added, under any asset rules; 0 if none. */
export function arrivedBy(transaction: ScannedTransaction, place: AccountRef): bigint {
  return amountAt(findingOfTransaction(transaction, watching(place)).inflows, place);
}

/** Base units that a transaction removed, its fee included; 0 if none. */
export function leftBy(transaction: ScannedTransaction, place: AccountRef): bigint {
  return amountAt(findingOfTransaction(transaction, watching(place)).outflows, place);
}

/** Ownership alone decides which balances changed. Asset rules decide only whether a change is credited. */
function watching({ wallet }: AccountRef): Ours {
  return {
    kindOf: (address) => (address === wallet ? 'deposit' : undefined),
    ataOf: () => '',
    asset: () => undefined,
    isAttempt: () => false,
  };
}

function amountAt(movements: readonly Movement[], { account, asset }: AccountRef): bigint {
  return movements.find((one) => one.account === account && one.asset === asset)?.amount ?? 0n;
}
