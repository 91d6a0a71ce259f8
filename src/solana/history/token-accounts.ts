import { lowest } from '../../domain/bigint.ts';
import { DomainError } from '../../domain/errors.ts';
import type { Slots } from '../../domain/slots.ts';
import { NodeFault } from '../rpc/errors.ts';
import { getFirstAvailableBlock, getTokenAccountsByOwner } from '../rpc/methods.ts';
import type { SolanaNode } from '../rpc/node.ts';
import { isSignature } from '../rpc/node-text.ts';
import type { NodePool } from '../rpc/pool.ts';
import { TOKEN_2022_PROGRAM, TOKEN_PROGRAM } from '../tx/programs.ts';
import { transactionIn } from './denial.ts';
import type { HeldSlots } from './ledger-completeness.ts';
import type { WalletSignature } from './pages.ts';
import { reachedBy } from './wallet-history.ts';
import type { WalletListing, WalletLists } from './wallet-signatures.ts';

/** Nodes, what of their lists has been read, and of which slots they have shown the blocks. */
export interface ListedNodes {
  readonly pool: NodePool;
  readonly lists: WalletLists;
  readonly held: HeldSlots;
}

/** A transaction in the list of an account, and the names of the nodes that list it in that slot. */
export interface ListedSignature extends WalletSignature {
  readonly listedBy: ReadonlySet<string>;
}

/** What nodes list for an account; `believed`, for each part of the slots: which of them that had all the blocks list nothing else. */
export interface AccountHistory {
  readonly entries: readonly ListedSignature[];
  readonly believed: readonly (readonly string[])[];
}

/** What one node lists, and the first block of which it still has transactions: it lists none from before. */
interface Listing extends WalletListing {
  readonly historyFrom: bigint;
  readonly node: string;
}

/**
 * Every finalized transaction that names `account` in these slots: all that any node lists.
 *
 * A list that is empty, or ends early, is believed only where a quorum of nodes shows that it has every block of these slots, and has
 * forgotten none since: see {@link areWhole}. Where too few do, there may be more than is listed.
 *
 * Returns one that nodes list in several slots with each of them. Throws NoHealthyNode where too few nodes answer with a list: an empty
 * one is one, too.
 */
export async function historyOf(
  { pool, lists, held }: ListedNodes,
  account: string,
  from: bigint,
  to: bigint,
): Promise<AccountHistory> {
  const { holding } = await held.holdersOf(pool, { from, to });
  const found = new Map<string, WalletSignature & { readonly listedBy: Set<string> }>();
  const believed: string[][] = [];
  for (let above = from - 1n; above < to; ) {
    const listings = await listingsOfAll({ pool, lists }, account, above);
    const whole = listings.filter(({ node, historyFrom }) => holding.has(node) && historyFrom <= above + 1n);
    const listed = listedTo(pool, whole, above) ?? listedTo(pool, listings, above);
    if (listed === null)
      throw new DomainError(
        'NoHealthyNode',
        `no quorum of nodes lists ${account} from slot ${above + 1n} on`,
      );
    believed.push(whole.flatMap(({ node, coveredTo }) => (coveredTo >= listed ? [node] : [])));
    for (const { node, entries } of listings)
      for (const entry of entries.filter(({ slot }) => slot <= to)) {
        const place = `${entry.signature}/${entry.slot}`;
        found.set(place, found.get(place) ?? { ...entry, listedBy: new Set() });
        found.get(place)?.listedBy.add(node);
      }
    above = listed;
  }
  return { entries: [...found.values()], believed };
}

/**
 * True where a quorum of the nodes that were believed has all the blocks now: one may have begun anew, without them, between showing them
 * and listing. Throws NoHealthyNode where it takes some that do not answer any more.
 */
export async function areWhole(
  { pool, held }: Omit<ListedNodes, 'lists'>,
  slots: Slots,
  histories: readonly AccountHistory[],
): Promise<boolean> {
  const { quorum } = pool;
  const parts = histories.flatMap(({ believed }) => believed);
  const areBelieved = (isMeant: (node: string) => boolean) =>
    parts.every((nodes) => nodes.filter(isMeant).length >= quorum);
  if (!areBelieved(() => true)) return false;
  const { holding, silent } = await held.holdersNow(pool, slots);
  if (areBelieved((node) => holding.has(node))) return true;
  if (!areBelieved((node) => holding.has(node) || silent.has(node))) return false;
  const message = `${[...silent].join(', ')} showed the blocks of slots ${slots.from} to ${slots.to}, and does not answer now`;
  throw new DomainError('NoHealthyNode', message);
}

/** The slot above `above` to which a quorum lists all that it has; null where too few do. */
function listedTo(pool: NodePool, listings: readonly Listing[], above: bigint): bigint | null {
  const reached = reachedBy(
    pool.quorum,
    listings.map(({ coveredTo }) => coveredTo),
  );
  return reached === null || reached <= above ? null : reached;
}

/** Every node is waited for: the one that has the most is often the slowest. */
async function listingsOfAll(
  { pool, lists }: Pick<ListedNodes, 'pool' | 'lists'>,
  account: string,
  above: bigint,
): Promise<readonly Listing[]> {
  const answers = await pool.all(async (node) => {
    const listing = await lists.ofNode(node, account, above, () => false);
    if (!listing.entries.every(({ signature }) => isSignature(signature)))
      throw new NodeFault(node.name, `getSignaturesForAddress: lists for ${account} what is no signature`);
    // Asked last: what the node has forgotten by then may be missing in its list.
    return { ...listing, historyFrom: await getFirstAvailableBlock(node), node: node.name };
  });
  return answers.flatMap(({ result }) => (result.status === 'fulfilled' ? [result.value] : []));
}

/**
 * True where this transaction is not in that finalized slot: a quorum of nodes shows its block without the transaction, or that there is
 * none. Nodes that show nothing of the slot deny nothing.
 */
export async function isAbsent(pool: NodePool, said: WalletSignature): Promise<boolean> {
  const denied = await pool.agreed(
    (node) => transactionIn(node, said),
    (one, other) => one === 'absent' && other === 'absent',
  );
  return denied !== null;
}

/** The token accounts that a wallet owns now, under both programs, as any node names them: a hint. Throws as `NodePool.read` does. */
export async function hintedTokenAccountsOf(pool: NodePool, wallet: string): Promise<readonly string[]> {
  return (await pool.read((node) => tokenAccountsAt(node, wallet))).accounts;
}

/**
 * The token accounts that a wallet owned at a finalized slot not below `asOf`, under both programs, as a quorum names them: what that
 * denies, another node has made up. Throws NoHealthyNode where too few have come to that slot to tell.
 */
export async function tokenAccountsOf(
  pool: NodePool,
  wallet: string,
  asOf: bigint,
): Promise<readonly string[]> {
  const answers = await pool.all((node) => tokenAccountsAt(node, wallet));
  const heard = answers.flatMap(({ result }) =>
    result.status === 'fulfilled' && result.value.slot >= asOf ? [new Set(result.value.accounts)] : [],
  );
  const untold = () =>
    new DomainError('NoHealthyNode', `no quorum of nodes names the same token accounts of ${wallet}`);
  if (heard.length < pool.quorum) throw untold();
  return [...new Set(heard.flatMap((named) => [...named]))].filter((account) => {
    const naming = heard.filter((named) => named.has(account)).length;
    if (naming < pool.quorum && heard.length - naming < pool.quorum) throw untold();
    return naming >= pool.quorum;
  });
}

/** And the slot at which the node names them. */
async function tokenAccountsAt(node: SolanaNode, wallet: string) {
  const [tokens, tokens2022] = await Promise.all([
    getTokenAccountsByOwner(node, wallet, TOKEN_PROGRAM),
    getTokenAccountsByOwner(node, wallet, TOKEN_2022_PROGRAM),
  ]);
  return {
    slot: lowest([tokens.context.slot, tokens2022.context.slot]),
    accounts: [...tokens.value, ...tokens2022.value].map(({ pubkey }) => pubkey),
  };
}
