import pLimit from 'p-limit';
import {
  type AccountHistory,
  areComplete,
  historyOf,
  isAbsent,
  type ListedNodes,
  type ListedSignature,
} from '../../solana/history/token-accounts.ts';
import { agreedTransaction, type JudgedTransaction } from '../credits/agreed-transaction.ts';
import type { DepositMatcher } from '../scan/matcher.ts';

export interface HistoryDeps extends ListedNodes {
  readonly matcher: DepositMatcher;
}

/**
 * Transactions that a quorum agrees on (`listed`), and listed ones that a quorum neither agrees on nor denies
 * (`unread`). `isWhole`: a quorum of nodes with the blocks lists no others.
 */
export interface ListedHistory {
  readonly listed: readonly JudgedTransaction[];
  readonly unread: readonly string[];
  readonly isWhole: boolean;
}

const AT_ONCE = 8;
/** False listings before one read ignores a node. Honest nodes have none: all nodes agree on a finalized slot. */
const LIES_BELIEVED = 32;

/**
 * All finalized transactions that name one of these accounts in slots `from` to `to`, each once. For
 * `nestedOf` see {@link MatchTransaction}. Throws NoHealthyNode if too few nodes list any.
 */
export async function listedFor(
  deps: HistoryDeps,
  accounts: Iterable<string>,
  from: bigint,
  to: bigint,
  nestedOf: readonly string[] = [],
): Promise<ListedHistory> {
  const { pool, matcher } = deps;
  const [listed, unread, credit] = [new Map<string, JudgedTransaction>(), new Set<string>(), new Credit()];
  const match = await matcher.judge();
  const look = async ({ listedBy, ...entry }: ListedSignature): Promise<void> => {
    const { signature, slot } = entry;
    if (listed.get(signature)?.slot === slot || !credit.isLeftTo(listedBy)) return;
    const transaction =
      (await agreedTransaction(pool, signature, (one) => match(one, nestedOf)))?.answer ?? null;
    // A real transaction listed under a wrong slot may be outside the range.
    if (transaction !== null && from <= transaction.slot && transaction.slot <= to)
      listed.set(signature, transaction);
    const isDenied = transaction === null ? await isAbsent(pool, entry) : transaction.slot !== slot;
    if (isDenied) credit.take(listedBy);
    else if (transaction === null) unread.add(signature);
  };
  const histories: AccountHistory[] = [];
  for (const account of accounts) {
    const history = await historyOf(deps, account, from, to);
    await pLimit(AT_ONCE).map(history.entries, look);
    histories.push(history);
  }
  const isWhole = await areComplete(deps, { from, to }, histories);
  return { listed: [...listed.values()], unread: [...unread], isWhole };
}

/**
 * Limits the trust in each node within one read. Transactions listed only by proven liars are ignored.
 * Otherwise one liar could make all nodes look up 50,000 invented transactions per account. Nothing is hidden
 * by this: a history is complete only if a quorum of nodes with the blocks lists all of it. At least one of
 * them is honest and lists every real transaction.
 */
class Credit {
  readonly #lies = new Map<string, number>();

  /** A quorum denies a transaction that these nodes list. */
  take(listedBy: Iterable<string>): void {
    for (const node of listedBy) this.#lies.set(node, (this.#lies.get(node) ?? 0) + 1);
  }

  isLeftTo(listedBy: Iterable<string>): boolean {
    return [...listedBy].some((node) => (this.#lies.get(node) ?? 0) < LIES_BELIEVED);
  }
}
