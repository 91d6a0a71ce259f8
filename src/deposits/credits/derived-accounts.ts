import type { AssetTerms } from '../../domain/deposit-asset.ts';
import { deriveAta } from '../../solana/tokens/ata.ts';

type ListedAsset = Pick<AssetTerms, 'asset' | 'program'>;

/** The wallet's associated token accounts for all listed mints, whether they exist on chain or not. */
export function derivedAccountsOf(listed: readonly ListedAsset[], wallet: string): readonly string[] {
  return listed.flatMap(({ asset, program }) =>
    program === null ? [] : [deriveAta(wallet, asset, program)],
  );
}

/**
 * Associated token accounts whose owner is a token account of the wallet, as a map from account to owner. A sender's
 * wallet creates such an account if it treats our token account as a wallet. Only accounts of the same mint are
 * included: one for each listed mint.
 */
export function nestedAccountsOf(
  listed: readonly ListedAsset[],
  wallet: string,
): ReadonlyMap<string, string> {
  const nested = listed.flatMap(({ asset, program }) => {
    if (program === null) return [];
    const owner = deriveAta(wallet, asset, program);
    return [[deriveAta(owner, asset, program, true), owner] as const];
  });
  return new Map(nested);
}
