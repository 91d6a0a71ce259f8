/** What the record knows of a signature: the attempt that has it. */
export interface RecordedSpend {
  readonly settlementId: string;
  readonly n: number;
  readonly state: 'prepared' | 'signed' | 'landed' | 'failed' | 'dead';
  /** True for a message that its buyer composed. */
  readonly isAdopted: boolean;
  /** The block of an attempt that landed or failed, and the error of one that failed. */
  readonly slot: bigint | null;
  readonly error: string | null;
}

export type SpendVerdict =
  /** On record, and not given up, or failed as the record has it: as it should be. */
  | { readonly kind: 'on_record' }
  /** Somebody else's transaction that only names the wallet: a deposit, an airdrop. */
  | { readonly kind: 'not_a_spend' }
  | { readonly kind: 'unknown_spend' }
  | { readonly kind: 'dead_attempt_landed'; readonly settlementId: string; readonly n: number };

/**
 * What a finalized transaction in the history of a hot wallet means. It is a spend where the wallet is among its signers, whether it
 * succeeded or not: only our own signer can have made it. `isProved`: two nodes show that an attempt which the database calls dead is finalized,
 * or that one which it calls failed has succeeded.
 * Source: docs/decisions/0010-wallet-history.md.
 */
export function judgeSpend(
  wallet: string,
  signers: readonly string[],
  recorded: RecordedSpend | null,
  isProved: boolean,
): SpendVerdict {
  if (recorded === null) return { kind: signers.includes(wallet) ? 'unknown_spend' : 'not_a_spend' };
  const { settlementId, n } = recorded;
  return isProved && isGivenUp(recorded)
    ? { kind: 'dead_attempt_landed', settlementId, n }
    : { kind: 'on_record' };
}

/** True for an attempt that pays nothing by the database. */
export function isGivenUp({ state }: RecordedSpend): boolean {
  return state === 'dead' || state === 'failed';
}
