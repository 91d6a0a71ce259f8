/** What a transaction took from its fee payer, in lamports, and moved; null where no second node shows it. */
export interface Spending {
  readonly feeLamports: bigint | null;
  /** All that left the fee payer, the fee included. */
  readonly spentLamports: bigint | null;
  /** Base units that its token accounts gained, by their place among the accounts of the message. */
  readonly tokenChanges: ReadonlyMap<number, bigint> | null;
}

export const NOT_SHOWN: Spending = { feeLamports: null, spentLamports: null, tokenChanges: null };

/** A token balance of a transaction's meta. */
export interface TokenBalance {
  readonly accountIndex: number;
  readonly amount: bigint;
}

/** What token accounts gained: an account that is not listed had, or has, nothing. Null where a list is missing. */
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
 * Lamports that a transaction paid for an account it made, where `amountLamports` went to its payee: nothing where somebody else had made
 * that account meanwhile. Null where it is not shown, or cannot be: never below nothing, nor above the `planned` ones.
 */
export function rentPaid(
  { feeLamports, spentLamports }: Spending,
  amountLamports: bigint,
  planned: bigint,
): bigint | null {
  if (feeLamports === null || spentLamports === null) return null;
  const rent = spentLamports - feeLamports - amountLamports;
  return rent >= 0n && rent <= planned ? rent : null;
}
