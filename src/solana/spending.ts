/** What a finalized transaction took from its fee payer, in lamports; null where no second node shows it. */
export interface Spending {
  readonly feeLamports: bigint | null;
  /** All that left the fee payer, the fee included. */
  readonly spentLamports: bigint | null;
}

export const NOT_SHOWN: Spending = { feeLamports: null, spentLamports: null };

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
