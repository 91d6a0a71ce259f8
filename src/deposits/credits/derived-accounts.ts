import type { AssetTerms } from '../../domain/deposit-asset.ts';
import { deriveAta } from '../../solana/tokens/ata.ts';

type ListedAsset = Pick<AssetTerms, 'asset' | 'program'>;

/** The wallet's associated token accounts for all listed mints, existing or not. */
export function derivedAccountsOf(listed: readonly ListedAsset[], wallet: string): readonly string[] {
  return listed.flatMap(({ asset, program }) =>
    program === null ? [] : [deriveAta(wallet, asset, program)],
  );
}

/**
 * Token accounts of our token accounts, each with its owner. A sender's wallet creates one if it takes our
 * token account for a wallet. Only of the same mint, which adds one account per listed mint.
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
