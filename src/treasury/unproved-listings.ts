import type { WalletListing } from '../solana/history/wallet-signatures.ts';
import { witnessedBlock } from '../solana/proof/linked-blocks.ts';
import type { NodePool } from '../solana/rpc/pool.ts';

/** The listings that name a transaction which is among `unproven`. */
export function doubtfulOf(
  listings: readonly WalletListing[],
  unproven: ReadonlySet<string>,
): readonly WalletListing[] {
  return listings.filter(({ entries }) => entries.some(({ signature }) => unproven.has(signature)));
}

/**
 * The listings of a wallet without those that are proved false: a quorum shows the block of the slot without the transaction that the node
 * lists there. That node is distrusted. A listing that is neither proved nor false stays.
 */
export async function withoutFalse(
  pool: NodePool,
  listings: readonly WalletListing[],
  unproven: ReadonlySet<string>,
): Promise<readonly WalletListing[]> {
  const liars = new Set<WalletListing>();
  for (const listing of doubtfulOf(listings, unproven)) {
    const entry = listing.entries.find(({ signature }) => unproven.has(signature));
    const block = entry === undefined ? null : await witnessedBlock(pool, entry.slot).catch(() => null);
    if (entry === undefined || block === null || block.signatures.has(entry.signature)) continue;
    liars.add(listing);
    const reason = `lists ${entry.signature} in slot ${entry.slot}, but a quorum shows that block without it`;
    pool.distrust(listing.node, reason);
  }
  return listings.filter((listing) => !liars.has(listing));
}
