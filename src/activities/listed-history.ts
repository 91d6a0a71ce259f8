import pLimit from 'p-limit';
import type { AssetRow } from '../ledger/assets.ts';
import { deriveAta } from '../solana/ata.ts';
import { historyOf, isNowhere, type ListedNodes } from '../solana/scan/history.ts';
import type { DepositMatcher } from './deposit-matcher.ts';
import { agreedTransaction, type Shown } from './testimonies.ts';

export interface HistoryDeps extends ListedNodes {
  readonly matcher: DepositMatcher;
}

/** What a quorum of nodes shows, and the transactions that nodes list and no quorum shows alike, nor denies. */
export interface ListedHistory {
  readonly listed: readonly Shown[];
  readonly unread: readonly string[];
}

const AT_ONCE = 8;

/** The associated token accounts of a wallet for all listed mints, whether they exist or not. */
export function derivedAccountsOf(listed: readonly AssetRow[], wallet: string): readonly string[] {
  return listed.flatMap(({ asset, program }) =>
    program === null ? [] : [deriveAta(wallet, asset, program)],
  );
}

/**
 * Every finalized transaction that names one of these accounts in slots `from` to `to`, each once. Throws NoHealthyNode where no
 * quorum of nodes lists them.
 */
export async function listedFor(
  deps: HistoryDeps,
  accounts: Iterable<string>,
  from: bigint,
  to: bigint,
): Promise<ListedHistory> {
  const places = new Map<string, Set<bigint>>();
  for (const account of accounts)
    for (const { signature, slot } of await historyOf(deps, account, from, to))
      places.set(signature, (places.get(signature) ?? new Set()).add(slot));
  const judge = await deps.matcher.judge();
  const unread: string[] = [];
  const read = await pLimit(AT_ONCE).map([...places], async ([signature, slots]) => {
    const agreed = await agreedTransaction(deps.pool, signature, judge);
    if (agreed !== null) return [agreed.shown];
    if (!(await isNowhere(deps.pool, signature, slots))) unread.push(signature);
    return [];
  });
  return { listed: read.flat(), unread };
}
