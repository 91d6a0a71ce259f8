import type { AssetTerms } from '../../domain/deposit-asset.ts';
import { deriveAta } from '../../solana/tokens/ata.ts';

type Listed = readonly Pick<AssetTerms, 'asset' | 'program'>[];

/** The associated token accounts of a wallet for all listed mints, whether they exist or not. */
export function derivedAccountsOf(listed: Listed, wallet: string): readonly string[] {
  return listed.flatMap(({ asset, program }) =>
    program === null ? [] : [deriveAta(wallet, asset, program)],
  );
}

/**
 * The token accounts that a sender's wallet makes where it takes a token account of ours for a wallet, each with the token account of ours
 * that owns it. Of the same mint alone: one more account for each listed mint is read with the others.
 */
export function nestedAccountsOf(listed: Listed, wallet: string): ReadonlyMap<string, string> {
  const nested = listed.flatMap(({ asset, program }) => {
    if (program === null) return [];
    const owner = deriveAta(wallet, asset, program);
    return [[deriveAta(owner, asset, program, true), owner] as const];
  });
  return new Map(nested);
}
