import { DomainError } from '../../domain/errors.ts';
import type { WalletSignature } from '../history-pages.ts';
import { TOKEN_2022_PROGRAM, TOKEN_PROGRAM } from '../programs.ts';
import { getFirstAvailableBlock, getTokenAccountsByOwner } from '../rpc/methods.ts';
import type { NodePool } from '../rpc/pool.ts';
import { reachedBy } from '../wallet-history.ts';
import { unionOf, type WalletListing, type WalletLists } from '../wallet-lists.ts';

/** Nodes, and what of their lists has been read. */
export interface ListedNodes {
  readonly pool: NodePool;
  readonly lists: WalletLists;
}

/** What one node lists, and the first block of which it still has transactions: it lists none from before. */
interface Listing extends WalletListing {
  readonly historyFrom: bigint;
}

/**
 * Every finalized transaction that names `account` in these slots, as at least a quorum of nodes lists them together, one of which still
 * has its history from `from` on: an empty list, or one that ends early, is never the end by the word of nodes that forgot. Throws
 * NoHealthyNode where too few nodes list, or none from so early on.
 */
export async function historyOf(
  { pool, lists }: ListedNodes,
  account: string,
  from: bigint,
  to: bigint,
): Promise<readonly WalletSignature[]> {
  const found = new Map<string, WalletSignature>();
  for (let above = from - 1n; above < to; ) {
    const listings = await listingsOfAll({ pool, lists }, account, above, (signature) =>
      found.has(signature),
    );
    const covered = reachedBy(
      pool.quorum,
      listings.map(({ coveredTo }) => coveredTo),
    );
    if (covered === null || covered <= above)
      throw new DomainError('NoHealthyNode', `no quorum of nodes lists ${account} above slot ${above}`);
    if (!listings.some(({ historyFrom }) => historyFrom <= above + 1n))
      throw new DomainError(
        'NoHealthyNode',
        `no node has the history of ${account} from slot ${above + 1n} on`,
      );
    for (const entry of unionOf(listings)) if (entry.slot <= to) found.set(entry.signature, entry);
    above = covered;
  }
  return [...found.values()];
}

/** Every node is waited for: the one that has the most is often the slowest. */
async function listingsOfAll(
  { pool, lists }: ListedNodes,
  account: string,
  above: bigint,
  known: (signature: string) => boolean,
): Promise<readonly Listing[]> {
  const answers = await pool.all(async (node) => {
    const listing = await lists.ofNode(node, account, above, known);
    // Asked last: what the node has forgotten by then may be missing in its list.
    return { ...listing, historyFrom: await getFirstAvailableBlock(node) };
  });
  return answers.flatMap(({ result }) => (result.status === 'fulfilled' ? [result.value] : []));
}

/** The token accounts that a wallet owns now, under both programs, as any node names them. Throws as `NodePool.read` does. */
export async function tokenAccountsOf(pool: NodePool, wallet: string): Promise<readonly string[]> {
  const programs = [TOKEN_PROGRAM, TOKEN_2022_PROGRAM];
  const answers = await Promise.all(
    programs.map((program) => pool.read((node) => getTokenAccountsByOwner(node, wallet, program))),
  );
  return answers.flatMap(({ value }) => value.map(({ pubkey }) => pubkey));
}
