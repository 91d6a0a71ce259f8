import type { WalletListing } from '../solana/history/wallet-signatures.ts';
import { confirmedBlock } from '../solana/proof/linked-blocks.ts';
import type { NodePool } from '../solana/rpc/pool.ts';

export function unprovedListingsOf(
  listings: readonly WalletListing[],
  unproven: ReadonlySet<string>,
): readonly WalletListing[] {
  return listings.filter(({ entries }) => entries.some(({ signature }) => unproven.has(signature)));
}

/**
 * Drops listings that are proved false: a quorum returns the slot's block without the listed transaction.
 * Their nodes are distrusted. An unproved listing stays.
 */
export async function withoutFalse(
  pool: NodePool,
  listings: readonly WalletListing[],
  unproven: ReadonlySet<string>,
): Promise<readonly WalletListing[]> {
  const liars = new Set<WalletListing>();
  for (const listing of unprovedListingsOf(listings, unproven)) {
    const entry = listing.entries.find(({ signature }) => unproven.has(signature));
    const block = entry === undefined ? null : await confirmedBlock(pool, entry.slot).catch(() => null);
    if (entry === undefined || block === null || block.signatures.has(entry.signature)) continue;
    liars.add(listing);
    const reason = `lists ${entry.signature} in slot ${entry.slot}, but a quorum shows that block without it`;
    pool.distrust(listing.node, reason);
  }
  return listings.filter((listing) => !liars.has(listing));
}
