import pLimit from 'p-limit';
import {
  type AccountHistory,
  areWhole,
  historyOf,
  isAbsent,
  type ListedNodes,
  type ListedSignature,
} from '../../solana/history/token-accounts.ts';
import { agreedTransaction, type Shown } from '../credits/agreed-transaction.ts';
import { type DepositMatcher, withNested } from '../scan/matcher.ts';

export interface HistoryDeps extends ListedNodes {
  readonly matcher: DepositMatcher;
}

/**
 * What a quorum of nodes shows, and the transactions that nodes list and no quorum shows alike, nor denies; `isWhole`: nodes that have
 * the blocks say that there are no others.
 */
export interface ListedHistory {
  readonly listed: readonly Shown[];
  readonly unread: readonly string[];
  readonly isWhole: boolean;
}

const AT_ONCE = 8;
/** Of one node, in one reading. An honest one has none: what it lists as finalized in a slot is there at every other, too. */
const LIES_BELIEVED = 32;

/**
 * Every finalized transaction that names one of these accounts in slots `from` to `to`, each once; `nestedOf`: see {@link Judge}. Throws NoHealthyNode where too
 * few nodes answer with a list.
 */
export async function listedFor(
  deps: HistoryDeps,
  accounts: Iterable<string>,
  from: bigint,
  to: bigint,
  nestedOf: readonly string[] = [],
): Promise<ListedHistory> {
  const { pool, matcher } = deps;
  const [listed, unread, credit] = [new Map<string, Shown>(), new Set<string>(), new Credit()];
  const judge = withNested(await matcher.judge(), nestedOf);
  const look = async ({ listedBy, ...said }: ListedSignature): Promise<void> => {
    const { signature, slot } = said;
    if (listed.get(signature)?.slot === slot || !credit.isLeftTo(listedBy)) return;
    const shown = (await agreedTransaction(pool, signature, judge))?.shown ?? null;
    // A true one that is listed in a slot not its own may be from before or after.
    if (shown !== null && from <= shown.slot && shown.slot <= to) listed.set(signature, shown);
    const isDenied = shown === null ? await isAbsent(pool, said) : shown.slot !== slot;
    if (isDenied) credit.take(listedBy);
    else if (shown === null) unread.add(signature);
  };
  const histories: AccountHistory[] = [];
  for (const account of accounts) {
    const history = await historyOf(deps, account, from, to);
    await pLimit(AT_ONCE).map(history.entries, look);
    histories.push(history);
  }
  const isWhole = await areWhole(deps, { from, to }, histories);
  return { listed: [...listed.values()], unread: [...unread], isWhole };
}

/**
 * How far nodes are believed in one reading. What none but proven liars list is left out, or one of them could have all nodes asked for
 * 50,000 transactions of each account that never were. That hides nothing: a history is whole only where a quorum of nodes that have
 * the blocks lists all of it, at least one of them honest; what is true is in its list, too. A liar might as well have listed nothing.
 */
class Credit {
  readonly #lies = new Map<string, number>();

  /** A quorum denies what these nodes list. */
  take(listedBy: Iterable<string>): void {
    for (const node of listedBy) this.#lies.set(node, (this.#lies.get(node) ?? 0) + 1);
  }

  isLeftTo(listedBy: Iterable<string>): boolean {
    return [...listedBy].some((node) => (this.#lies.get(node) ?? 0) < LIES_BELIEVED);
  }
}
