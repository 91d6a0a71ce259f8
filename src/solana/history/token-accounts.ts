import { DomainError } from '../../domain/errors.ts';
import type { Slots } from '../../domain/scan.ts';
import { lowest } from '../../domain/units.ts';
import { NodeFault } from '../rpc/errors.ts';
import { getFirstAvailableBlock, getTokenAccountsByOwner } from '../rpc/methods.ts';
import type { SolanaNode } from '../rpc/node.ts';
import { isSignature } from '../rpc/node-text.ts';
import type { NodePool } from '../rpc/pool.ts';
import { answersIn, reached } from '../rpc/quorum.ts';
import { TOKEN_2022_PROGRAM, TOKEN_PROGRAM } from '../tx/programs.ts';
import type { LedgerCompleteness } from './ledger-completeness.ts';
import type { WalletSignature } from './pages.ts';
import { transactionIn } from './transaction.ts';
import type { WalletListing, WalletLists } from './wallet-signatures.ts';

export interface ListedNodes {
  readonly pool: NodePool;
  readonly lists: WalletLists;
  readonly completeness: LedgerCompleteness;
}

/** A transaction in the list of an account, and the names of the nodes that list it in that slot. */
export interface ListedSignature extends WalletSignature {
  readonly listedBy: ReadonlySet<string>;
}

/** The union of lists. `completeNodes`: for each part of the slots, nodes with all blocks that list nothing else. */
export interface AccountHistory {
  readonly entries: readonly ListedSignature[];
  readonly completeNodes: readonly (readonly string[])[];
}

/** One node's list. The node lists no transactions from before `historyFrom`. */
interface NodeListing extends WalletListing {
  readonly historyFrom: bigint;
}

/**
 * Every finalized transaction that names `account` in these slots: the union over all nodes, once per listed slot.
 * Throws NoHealthyNode if too few nodes answer with a list; an empty list is an answer.
 *
 * An empty or short list counts only if a quorum of nodes has every block of these slots, and still has them
 * afterwards (see {@link areComplete}). With too few such nodes, the result may be incomplete.
 */
export async function historyOf(
  { pool, lists, completeness }: ListedNodes,
  account: string,
  from: bigint,
  to: bigint,
): Promise<AccountHistory> {
  const { complete } = await completeness.completeNodes(pool, { from, to });
  const found = new Map<string, WalletSignature & { readonly listedBy: Set<string> }>();
  const completeNodes: string[][] = [];
  for (let above = from - 1n; above < to; ) {
    const listings = await listingsOfAll({ pool, lists }, account, above);
    const completeListings = listings.filter(
      ({ node, historyFrom }) => complete.has(node) && historyFrom <= above + 1n,
    );
    const coveredTo =
      quorumCoveredTo(pool, completeListings, above) ?? quorumCoveredTo(pool, listings, above);
    if (coveredTo === null)
      throw new DomainError(
        'NoHealthyNode',
        `no quorum of nodes lists ${account} from slot ${above + 1n} on`,
      );
    completeNodes.push(
      completeListings.flatMap(({ node, coveredTo }) => (coveredTo >= coveredTo ? [node] : [])),
    );
    for (const { node, entries } of listings)
      for (const entry of entries.filter(({ slot }) => slot <= to)) {
        const key = `${entry.signature}/${entry.slot}`;
        found.set(key, found.get(key) ?? { ...entry, listedBy: new Set() });
        found.get(key)?.listedBy.add(node);
      }
    above = coveredTo;
  }
  return { entries: [...found.values()], completeNodes };
}

/**
 * True if a quorum of the complete nodes has all the blocks now; a node may have lost them before it listed. Throws
 * NoHealthyNode if the decision depends on nodes that no longer answer.
 */
export async function areComplete(
  { pool, completeness }: Omit<ListedNodes, 'lists'>,
  slots: Slots,
  histories: readonly AccountHistory[],
): Promise<boolean> {
  const { quorum } = pool;
  const parts = histories.flatMap(({ completeNodes }) => completeNodes);
  const isQuorumPerPart = (isMeant: (node: string) => boolean) =>
    parts.every((nodes) => nodes.filter(isMeant).length >= quorum);
  if (!isQuorumPerPart(() => true)) return false;
  const { complete, silent } = await completeness.completeNodesNow(pool, slots);
  if (isQuorumPerPart((node) => complete.has(node))) return true;
  if (!isQuorumPerPart((node) => complete.has(node) || silent.has(node))) return false;
  const message = `${[...silent].join(', ')} returned the blocks of slots ${slots.from} to ${slots.to}, and does not answer now`;
  throw new DomainError('NoHealthyNode', message);
}

/** The slot above `above` up to which a quorum's lists are complete; null if too few are. */
function quorumCoveredTo(pool: NodePool, listings: readonly NodeListing[], above: bigint): bigint | null {
  const coveredSlots = listings.map(({ coveredTo }) => coveredTo);
  const common = reached(coveredSlots, pool.quorum);
  return common === null || common <= above ? null : common;
}

/** Waits for every node: the node with the longest history is often the slowest. */
async function listingsOfAll(
  { pool, lists }: Pick<ListedNodes, 'pool' | 'lists'>,
  account: string,
  above: bigint,
): Promise<readonly NodeListing[]> {
  const answers = await pool.all(async (node) => {
    const listing = await lists.ofNode(node, account, above, () => false);
    if (!listing.entries.every(({ signature }) => isSignature(signature)))
      throw new NodeFault(node.name, `getSignaturesForAddress: lists an invalid signature for ${account}`);
    // Read last: entries that the node has purged by then may be missing in its list.
    return { ...listing, historyFrom: await getFirstAvailableBlock(node) };
  });
  return answersIn(answers).map(({ answer }) => answer);
}

/** True if a quorum returns that finalized slot without the transaction, or no block. A failed request denies nothing. */
export async function isAbsent(pool: NodePool, listed: WalletSignature): Promise<boolean> {
  const agreement = await pool.agreed(
    (node) => transactionIn(node, listed),
    (one, other) => one === 'absent' && other === 'absent',
  );
  return agreement !== null;
}

/**
 * A wallet's token accounts under both programs at a finalized slot not below `asOf`, by a quorum. An account that a
 * quorum denies is left out. Throws NoHealthyNode if too few nodes have reached that slot.
 */
export async function tokenAccountsOf(
  pool: NodePool,
  wallet: string,
  minSlot: bigint,
): Promise<readonly string[]> {
  const answers = answersIn(await pool.all((node) => tokenAccountsAt(node, wallet)));
  const listed = answers.flatMap(({ answer }) => (answer.slot >= minSlot ? [new Set(answer.accounts)] : []));
  const noQuorum = () =>
    new DomainError('NoHealthyNode', `no quorum of nodes returns the same token accounts of ${wallet}`);
  if (listed.length < pool.quorum) throw noQuorum();
  return [...new Set(listed.flatMap((named) => [...named]))].filter((account) => {
    const listedCount = listed.filter((named) => named.has(account)).length;
    if (listedCount < pool.quorum && listed.length - listedCount < pool.quorum) throw noQuorum();
    return listedCount >= pool.quorum;
  });
}

/** A wallet's token accounts under both programs, and the lower of the two slots, by one node. */
export async function tokenAccountsAt(node: SolanaNode, wallet: string) {
  const [tokens, tokens2022] = await Promise.all([
    getTokenAccountsByOwner(node, wallet, TOKEN_PROGRAM),
    getTokenAccountsByOwner(node, wallet, TOKEN_2022_PROGRAM),
  ]);
  return {
    slot: lowest([tokens.context.slot, tokens2022.context.slot]),
    accounts: [...tokens.value, ...tokens2022.value].map(({ pubkey }) => pubkey),
  };
}
