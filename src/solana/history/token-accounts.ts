import { DomainError } from '../../domain/errors.ts';
import type { Slots } from '../../domain/scan.ts';
import { lowest } from '../../domain/units.ts';
import { NodeFault } from '../rpc/errors.ts';
import { getFirstAvailableBlock, getTokenAccountsByOwner } from '../rpc/methods.ts';
import type { SolanaNode } from '../rpc/node.ts';
import { isSignature } from '../rpc/node-text.ts';
import type { NodePool } from '../rpc/pool.ts';
import { answersIn, highestQuorumValue } from '../rpc/quorum.ts';
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

/** A listed transaction of an account, with the names of the nodes that list it in that slot. */
export interface ListedSignature extends WalletSignature {
  readonly listedBy: ReadonlySet<string>;
}

/**
 * The union of nodes' lists. `completeNodes`: for each part of the slots, the nodes with all its blocks and a complete
 * list.
 */
export interface AccountHistory {
  readonly entries: readonly ListedSignature[];
  readonly completeNodes: readonly (readonly string[])[];
}

/** One node's list, which is complete only from the slot `historyFrom` on. */
interface NodeListing extends WalletListing {
  readonly historyFrom: bigint;
}

/**
 * The finalized transactions that name `account` in slots `from` to `to`: the union of all nodes' lists. Throws
 * NoHealthyNode if no quorum of nodes returns a list, which can be empty.
 *
 * The result is complete only if a quorum of nodes has every block of the slots, also after the lists were read: check
 * it with {@link areComplete}.
 */
export async function historyOf(
  { pool, lists, completeness }: ListedNodes,
  account: string,
  from: bigint,
  to: bigint,
): Promise<AccountHistory> {
  const { complete } = await completeness.findCompleteNodes(pool, { from, to });
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
        `no quorum of RPC nodes lists the transactions of ${account} from slot ${above + 1n} on`,
      );
    completeNodes.push(
      completeListings.flatMap((listing) => (listing.coveredTo >= coveredTo ? [listing.node] : [])),
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
 * True if the histories are complete: a quorum of their complete nodes still has all blocks of the slots. A node may
 * have lost blocks before it returned its list. Throws NoHealthyNode if the result depends on nodes that do not answer.
 */
export async function areComplete(
  { pool, completeness }: Omit<ListedNodes, 'lists'>,
  slots: Slots,
  histories: readonly AccountHistory[],
): Promise<boolean> {
  const { quorum } = pool;
  const parts = histories.flatMap(({ completeNodes }) => completeNodes);
  const isQuorumPerPart = (isIncluded: (node: string) => boolean) =>
    parts.every((nodes) => nodes.filter(isIncluded).length >= quorum);
  if (!isQuorumPerPart(() => true)) return false;
  const { complete, silent } = await completeness.findCompleteNodesNow(pool, slots);
  if (isQuorumPerPart((node) => complete.has(node))) return true;
  if (!isQuorumPerPart((node) => complete.has(node) || silent.has(node))) return false;
  const message = `RPC nodes ${[...silent].join(', ')} returned the blocks of slots ${slots.from} to ${slots.to} before, but do not answer now`;
  throw new DomainError('NoHealthyNode', message);
}

/** The slot up to which the lists of a quorum are complete; null if they are not complete beyond `above`. */
function quorumCoveredTo(pool: NodePool, listings: readonly NodeListing[], above: bigint): bigint | null {
  const coveredSlots = listings.map(({ coveredTo }) => coveredTo);
  const common = highestQuorumValue(coveredSlots, pool.quorum);
  return common === null || common <= above ? null : common;
}

/** Waits for every node, because the node with the longest history is often the slowest. */
async function listingsOfAll(
  { pool, lists }: Pick<ListedNodes, 'pool' | 'lists'>,
  account: string,
  above: bigint,
): Promise<readonly NodeListing[]> {
  const answers = await pool.all(async (node) => {
    const listing = await lists.readFromNode(node, account, above, () => false);
    if (!listing.entries.every(({ signature }) => isSignature(signature)))
      throw new NodeFault(
        node.name,
        `getSignaturesForAddress: the list for ${account} has an invalid signature`,
      );
    // Read after the list, so that `historyFrom` also excludes blocks that the node purged while it listed.
    return { ...listing, historyFrom: await getFirstAvailableBlock(node) };
  });
  return answersIn(answers).map(({ answer }) => answer);
}

/** True if a quorum of nodes proves that the transaction is not in its finalized slot; see {@link transactionIn}. */
export async function isAbsent(pool: NodePool, listed: WalletSignature): Promise<boolean> {
  const agreement = await pool.agreed(
    (node) => transactionIn(node, listed),
    (one, other) => one === 'absent' && other === 'absent',
  );
  return agreement !== null;
}

/**
 * The token accounts of a wallet under both token programs on which a quorum of nodes agrees, at finalized slots from
 * `minSlot` on. Throws NoHealthyNode if too few nodes have reached `minSlot`, or if no quorum agrees on an account.
 */
export async function tokenAccountsOf(
  pool: NodePool,
  wallet: string,
  minSlot: bigint,
): Promise<readonly string[]> {
  const answers = answersIn(await pool.all((node) => tokenAccountsAt(node, wallet)));
  const listed = answers.flatMap(({ answer }) => (answer.slot >= minSlot ? [new Set(answer.accounts)] : []));
  const noQuorum = () =>
    new DomainError('NoHealthyNode', `no quorum of RPC nodes returns the same token accounts of ${wallet}`);
  if (listed.length < pool.quorum) throw noQuorum();
  return [...new Set(listed.flatMap((accounts) => [...accounts]))].filter((account) => {
    const listedCount = listed.filter((accounts) => accounts.has(account)).length;
    if (listedCount < pool.quorum && listed.length - listedCount < pool.quorum) throw noQuorum();
    return listedCount >= pool.quorum;
  });
}

/** One node's token accounts of a wallet under both token programs, and the lower slot of the two answers. */
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
