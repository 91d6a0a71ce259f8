import { findingOfTransaction, type Ours } from './credits.ts';
import type { Movement, ScannedTransaction } from './deposit.ts';

/** One account of one wallet, and what it may have gained or lost. */
export type Place = Pick<Movement, 'wallet' | 'account' | 'asset'>;

/** Base units that a transaction brought to a place, by whatever terms; 0 where none. */
export function arrivedBy(transaction: ScannedTransaction, place: Place): bigint {
  return amountAt(findingOfTransaction(transaction, watching(place)).inflows, place);
}

/** Base units that left a place by a transaction, as its fee, too; 0 where none. */
export function leftBy(transaction: ScannedTransaction, place: Place): bigint {
  return amountAt(findingOfTransaction(transaction, watching(place)).outflows, place);
}

/** Whose it is decides what moved; our terms only decide what we make of it. */
function watching({ wallet }: Place): Ours {
  return {
    kindOf: (address) => (address === wallet ? 'deposit' : undefined),
    ataOf: () => '',
    asset: () => undefined,
    isAttempt: () => false,
  };
}

function amountAt(movements: readonly Movement[], { account, asset }: Place): bigint {
  return movements.find((one) => one.account === account && one.asset === asset)?.amount ?? 0n;
}
