import { base58 } from '@scure/base';
import { DomainError } from '../../domain/errors.ts';
import type { WalletSignature } from '../history-pages.ts';
import { TOKEN_2022_PROGRAM, TOKEN_PROGRAM } from '../programs.ts';
import { NodeFault } from '../rpc/errors.ts';
import { getFirstAvailableBlock, getTokenAccountsByOwner } from '../rpc/methods.ts';
import type { NodePool } from '../rpc/pool.ts';
import { reachedBy } from '../wallet-history.ts';
import type { WalletListing, WalletLists } from '../wallet-lists.ts';
import { transactionIn } from './denial.ts';

const SIGNATURE_BYTES = 64;

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
 * Every finalized transaction that names `account` in these slots: all that any node lists.
 *
 * A list that is empty, or ends early, is believed only where a quorum of nodes still has its history from `from` on.
 *
 * Returns one that nodes list in several slots with each of them. Throws NoHealthyNode where too few nodes list from so early on.
 */
export async function historyOf(
  { pool, lists }: ListedNodes,
  account: string,
  from: bigint,
  to: bigint,
): Promise<readonly WalletSignature[]> {
  const found = new Map<string, WalletSignature>();
  for (let above = from - 1n; above < to; ) {
    const listings = await listingsOfAll({ pool, lists }, account, above);
    const whole = listings.filter(({ historyFrom }) => historyFrom <= above + 1n);
    const covered = reachedBy(
      pool.quorum,
      whole.map(({ coveredTo }) => coveredTo),
    );
    if (covered === null || covered <= above) {
      const lacks = whole.length < listings.length ? 'has the history of' : 'lists';
      const message = `no quorum of nodes ${lacks} ${account} from slot ${above + 1n} on`;
      throw new DomainError('NoHealthyNode', message);
    }
    for (const entry of listings.flatMap(({ entries }) => entries))
      if (entry.slot <= to) found.set(`${entry.signature}/${entry.slot}`, entry);
    above = covered;
  }
  return [...found.values()];
}

/** Every node is waited for: the one that has the most is often the slowest. */
async function listingsOfAll(
  { pool, lists }: ListedNodes,
  account: string,
  above: bigint,
): Promise<readonly Listing[]> {
  const answers = await pool.all(async (node) => {
    const listing = await lists.ofNode(node, account, above, () => false);
    if (!listing.entries.every(({ signature }) => isSignature(signature)))
      throw new NodeFault(node.name, `getSignaturesForAddress: lists for ${account} what is no signature`);
    // Asked last: what the node has forgotten by then may be missing in its list.
    return { ...listing, historyFrom: await getFirstAvailableBlock(node) };
  });
  return answers.flatMap(({ result }) => (result.status === 'fulfilled' ? [result.value] : []));
}

function isSignature(text: string): boolean {
  try {
    return base58.decode(text).length === SIGNATURE_BYTES;
  } catch {
    return false;
  }
}

/**
 * True where no transaction of this name is in any of these finalized slots: for each, a quorum of nodes shows its block without the
 * transaction, or that there is none. Nodes that show nothing of a slot deny nothing.
 */
export async function isNowhere(
  pool: NodePool,
  signature: string,
  slots: Iterable<bigint>,
): Promise<boolean> {
  for (const slot of slots) {
    const denied = await pool.agreed(
      (node) => transactionIn(node, { signature, slot }),
      (one, other) => one === 'absent' && other === 'absent',
    );
    if (denied === null) return false;
  }
  return true;
}

/** The token accounts that a wallet owns now, under both programs, as any node names them. Throws as `NodePool.read` does. */
export async function tokenAccountsOf(pool: NodePool, wallet: string): Promise<readonly string[]> {
  const programs = [TOKEN_PROGRAM, TOKEN_2022_PROGRAM];
  const answers = await Promise.all(
    programs.map((program) => pool.read((node) => getTokenAccountsByOwner(node, wallet, program))),
  );
  return answers.flatMap(({ value }) => value.map(({ pubkey }) => pubkey));
}
