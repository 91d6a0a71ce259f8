import { DomainError } from './errors.ts';

/** What we take in: SOL, or the tokens of one mint. */
export interface AssetTerms {
  /** {@link SOL} or the address of the mint. */
  readonly asset: string;
  /** The token program that owns the mint; null for SOL. */
  readonly program: string | null;
  readonly decimals: number;
  /** Base units: less than that in one account by one transaction is not credited. */
  readonly minimumDeposit: bigint;
  readonly depositsOn: boolean;
}

/** What an operator may say of an asset; what is left out stays as it is. */
export type AssetChange = Partial<Pick<AssetTerms, 'minimumDeposit' | 'depositsOn'>>;

/** What the chain says of an asset, whatever an operator wishes. */
export interface AssetLimits {
  /** Base units. */
  readonly leastDeposit: bigint;
  /** Why it cannot be moved for anybody; null where it can. */
  readonly immovable: string | null;
}

export const SOL = 'SOL';

const SOL_DECIMALS = 9;
const ONE_UNIT = 1n;

/** SOL until an operator changes it. `rentMinimum`: lamports that the chain demands of an account, so that no less can open one. */
export function untouchedSol(rentMinimum: bigint): AssetTerms {
  return {
    asset: SOL,
    program: null,
    decimals: SOL_DECIMALS,
    minimumDeposit: rentMinimum,
    depositsOn: true,
  };
}

/** A mint that is listed without another word. */
export function untouchedToken<Mint extends Pick<AssetTerms, 'asset' | 'program' | 'decimals'>>(
  mint: Mint,
): Mint & AssetTerms {
  return { ...mint, minimumDeposit: ONE_UNIT, depositsOn: true };
}

/** Whether an asset is taken, by its terms on record: SOL is until an operator says otherwise, a mint only once it is listed. */
export function takesDeposits(asset: string, onRecord: Pick<AssetTerms, 'depositsOn'> | undefined): boolean {
  return onRecord?.depositsOn ?? asset === SOL;
}

/** The terms after the change. Throws AssetRejected, which names the field, for terms that the chain cannot keep. */
export function changeTerms<Terms extends AssetTerms>(
  terms: Terms,
  { minimumDeposit = terms.minimumDeposit, depositsOn = terms.depositsOn }: AssetChange,
  { leastDeposit, immovable }: AssetLimits,
): Terms {
  if (minimumDeposit < leastDeposit)
    throw rejected(
      'minimumDeposit',
      `must be at least ${leastDeposit}: the chain opens no account with less`,
    );
  if (depositsOn && immovable !== null) throw rejected('depositsOn', immovable);
  return { ...terms, minimumDeposit, depositsOn };
}

function rejected(field: keyof AssetChange, reason: string): DomainError {
  return new DomainError('AssetRejected', `${field}: ${reason}`, { field });
}
