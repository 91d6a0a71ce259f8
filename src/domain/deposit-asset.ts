import { LAMPORT_DECIMALS } from './amount.ts';
import { DomainError } from './errors.ts';

export interface AssetTerms {
  /** {@link SOL} or the address of the mint. */
  readonly asset: string;
  /** The token program that owns the mint; null for SOL. */
  readonly program: string | null;
  readonly decimals: number;
  /** Base units. A smaller inflow to one account in one transaction is not credited. */
  readonly minimumDeposit: bigint;
  readonly depositsOn: boolean;
}

/** An operator's change; absent fields keep their value. */
export type AssetChange = Partial<Pick<AssetTerms, 'minimumDeposit' | 'depositsOn'>>;

/** Limits on an asset's terms that the chain sets. */
export interface AssetLimits {
  /** Lowest possible minimum deposit, in base units. */
  readonly leastDeposit: bigint;
  /** Why no holder can transfer the asset; null if holders can. */
  readonly immovable: string | null;
}

export const SOL = 'SOL';

const ONE_BASE_UNIT = 1n;

/** Default terms of SOL. `rentMinimum`: minimum lamports of an account. A smaller deposit cannot create the account. */
export function defaultSolTerms(rentMinimum: bigint): AssetTerms {
  return {
    asset: SOL,
    program: null,
    decimals: LAMPORT_DECIMALS,
    minimumDeposit: rentMinimum,
    depositsOn: true,
  };
}

export function withDefaultTerms<Mint extends Pick<AssetTerms, 'asset' | 'program' | 'decimals'>>(
  mint: Mint,
): Mint & AssetTerms {
  return { ...mint, minimumDeposit: ONE_BASE_UNIT, depositsOn: true };
}

/** Whether deposits of an asset are on. Without stored terms: on for SOL, off for a mint. */
export function takesDeposits(asset: string, recorded: Pick<AssetTerms, 'depositsOn'> | undefined): boolean {
  return recorded?.depositsOn ?? asset === SOL;
}

/** Returns the changed terms. Throws AssetRejected, which names the field, for terms that the chain does not permit. */
export function changeTerms<Terms extends AssetTerms>(
  terms: Terms,
  { minimumDeposit = terms.minimumDeposit, depositsOn = terms.depositsOn }: AssetChange,
  { leastDeposit, immovable }: AssetLimits,
): Terms {
  if (minimumDeposit < leastDeposit)
    throw rejected(
      'minimumDeposit',
      `must be at least ${leastDeposit} base units, because no account can be created with less`,
    );
  if (depositsOn && immovable !== null) throw rejected('depositsOn', immovable);
  return { ...terms, minimumDeposit, depositsOn };
}

function rejected(field: keyof AssetChange, reason: string): DomainError {
  return new DomainError('AssetRejected', `${field}: ${reason}`, { field });
}
