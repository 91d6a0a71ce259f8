import type { Lamports } from '../../domain/units.ts';

/** What a transaction charged its fee payer, in lamports, and its token changes; null if unconfirmed. */
export interface Spending {
  readonly feeLamports: Lamports | null;
  /** All lamports that left the fee payer, including the fee. */
  readonly spentLamports: Lamports | null;
  /** Base units that token accounts gained, by their index in the message. */
  readonly tokenChanges: ReadonlyMap<number, bigint> | null;
}

export const NOT_SHOWN: Spending = { feeLamports: null, spentLamports: null, tokenChanges: null };

export interface TokenBalance {
  readonly accountIndex: number;
  readonly amount: bigint;
}

/** Token balance changes. An account missing in one list has a balance of zero there. Null if a list is missing. */
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
 * Lamports that a transaction paid for a created account, when `amountLamports` went to its payee. 0 if another
 * transaction had created the account. Null if unknown, or if the result is not between 0 and `planned`.
 */
export function rentPaid(
  { feeLamports, spentLamports }: Spending,
  amountLamports: Lamports,
  planned: Lamports,
): Lamports | null {
  if (feeLamports === null || spentLamports === null) return null;
  const rent = spentLamports - feeLamports - amountLamports;
  return rent >= 0n && rent <= planned ? rent : null;
}
