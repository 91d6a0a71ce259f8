import type { AttemptState } from './attempt.ts';

export interface RecordedSpend {
  readonly settlementId: string;
  readonly n: number;
  readonly state: AttemptState;
  readonly isAdopted: boolean;
  /** `slot`: block of a landed or failed attempt. `error`: of a failed one. */
  readonly slot: bigint | null;
  readonly error: string | null;
}

export type SpendVerdict =
  /** Recorded and consistent: the attempt is not given up, or it failed as recorded. */
  | { readonly kind: 'on_record' }
  /** A transaction of another signer that only names the wallet: a deposit, an airdrop. */
  | { readonly kind: 'not_a_spend' }
  | { readonly kind: 'unknown_spend' }
  | { readonly kind: 'dead_attempt_landed'; readonly settlementId: string; readonly n: number };

/**
 * Judges a finalized transaction in the history of a hot wallet. It is a spend if the wallet signed it, with or
 * without success: only our own signer can have made it. `isProved`: two nodes return as finalized an attempt that
 * the database has as dead, or as successful an attempt that it has as failed. Source:
 * docs/decisions/0010-wallet-history.md.
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

/** True if the attempt paid nothing by the database. */
export function isGivenUp({ state }: RecordedSpend): boolean {
  return state === 'dead' || state === 'failed';
}
