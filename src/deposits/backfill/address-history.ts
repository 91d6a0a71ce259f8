import pLimit from 'p-limit';
import {
  type AccountHistory,
  areComplete,
  historyOf,
  isAbsent,
  type ListedNodes,
  type ListedSignature,
} from '../../solana/history/token-accounts.ts';
import { agreedTransaction, type MatchedTransaction } from '../credits/agreed-transaction.ts';
import type { DepositMatcher } from '../scan/matcher.ts';

export interface HistoryDeps extends ListedNodes {
  readonly matcher: DepositMatcher;
}

/**
 * The history of some accounts. `transactions`: those on which a quorum agrees. `unread`: signatures that a node lists,
 * but that a quorum neither agrees on nor denies. `isComplete`: true if a quorum of nodes with the blocks lists no
 * others.
 */
export interface TransactionHistory {
  readonly transactions: readonly MatchedTransaction[];
  readonly unread: readonly string[];
  readonly isComplete: boolean;
}

const MAX_CONCURRENT_READS = 8;
/**
 * False listings after which a read ignores a node. An honest node lists no transaction that a quorum denies, because
 * all honest nodes have the same finalized blocks.
 */
const MAX_FALSE_LISTINGS = 32;

/**
 * All finalized transactions that name one of `accounts` in slots `from` to `to`, each once. `nestedOf`: see
 * {@link MatchTransaction}. Throws NoHealthyNode if too few nodes return their lists.
 */
export async function historyFor(
  deps: HistoryDeps,
  accounts: Iterable<string>,
  from: bigint,
  to: bigint,
  nestedOf: readonly string[] = [],
): Promise<TransactionHistory> {
  const { pool, matcher } = deps;
  const [listed, unread, trust] = [new Map<string, MatchedTransaction>(), new Set<string>(), new NodeTrust()];
  const match = await matcher.transactionMatcher();
  const readEntry = async ({ listedBy, ...entry }: ListedSignature): Promise<void> => {
    const { signature, slot } = entry;
    if (listed.get(signature)?.slot === slot || !trust.trustsAny(listedBy)) return;
    const transaction =
      (await agreedTransaction(pool, signature, (one) => match(one, nestedOf)))?.answer ?? null;
    // A node can list a real transaction under a wrong slot, so that the agreed slot is checked against the range.
    if (transaction !== null && from <= transaction.slot && transaction.slot <= to)
      listed.set(signature, transaction);
    const isDenied = transaction === null ? await isAbsent(pool, entry) : transaction.slot !== slot;
    if (isDenied) trust.noteFalseListing(listedBy);
    else if (transaction === null) unread.add(signature);
  };
  const histories: AccountHistory[] = [];
  for (const account of accounts) {
    const history = await historyOf(deps, account, from, to);
    await pLimit(MAX_CONCURRENT_READS).map(history.entries, readEntry);
    histories.push(history);
  }
  const isComplete = await areComplete(deps, { from, to }, histories);
  return { transactions: [...listed.values()], unread: [...unread], isComplete };
}

/**
 * Counts the false listings of each node within one read. Transactions are ignored if only nodes that exceed the limit
 * list them. Without the limit, one node could make all nodes look up 50,000 invented transactions per account. No real
 * transaction is lost: a history is complete only if a quorum of nodes with the blocks lists all of it, and at least
 * one of these nodes is honest.
 */
class NodeTrust {
  readonly #falseListings = new Map<string, number>();

  /** Counts a transaction that a quorum denies against the nodes that list it. */
  noteFalseListing(listedBy: Iterable<string>): void {
    for (const node of listedBy) this.#falseListings.set(node, (this.#falseListings.get(node) ?? 0) + 1);
  }

  trustsAny(listedBy: Iterable<string>): boolean {
    return [...listedBy].some((node) => (this.#falseListings.get(node) ?? 0) < MAX_FALSE_LISTINGS);
  }
}
