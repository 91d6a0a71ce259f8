import type { Lamports } from '../../domain/units.ts';

/**
 * Costs of a finalized transaction for its fee payer, and its token balance changes. Null: no second node returns it.
 */
export interface Spending {
  readonly feeLamports: Lamports | null;
  /** Decrease of the fee payer's balance, including the fee. */
  readonly spentLamports: Lamports | null;
  /** Change of each token account's balance in base units, by the account's index in the message. */
  readonly tokenChanges: ReadonlyMap<number, bigint> | null;
}

export const UNKNOWN_SPENDING: Spending = { feeLamports: null, spentLamports: null, tokenChanges: null };

export interface TokenBalance {
  readonly accountIndex: number;
  readonly amount: bigint;
}

/** Balance change by account index. An account that one list lacks has balance 0 there. Null if a list is missing. */
export function tokenChanges(
  before: readonly TokenBalance[] | null,
  after: readonly TokenBalance[] | null,
): ReadonlyMap<number, bigint> | null {
  if (before === null || after === null) return null;
  const changes = new Map<number, bigint>();
  for (const { accountIndex, amount } of after) changes.set(accountIndex, amount);
  for (const { accountIndex, amount } of before)
    changes.set(accountIndex, (changes.get(accountIndex) ?? 0n) - amount);
  return changes;
}

/**
 * Lamports of rent that a transaction paid for an account it created: its costs beyond the fee and `amountLamports`, the
 * amount sent to the payee. 0 if the account already existed. Null if the costs are unknown, or if the result is not
 * between 0 and `maxLamports`.
 */
export function rentPaid(
  { feeLamports, spentLamports }: Spending,
  amountLamports: Lamports,
  maxLamports: Lamports,
): Lamports | null {
  if (feeLamports === null || spentLamports === null) return null;
  const rent = spentLamports - feeLamports - amountLamports;
  return rent >= 0n && rent <= maxLamports ? rent : null;
}
