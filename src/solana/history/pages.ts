import { DomainError } from '../../domain/errors.ts';
import { getSignaturesForAddress, getTransaction } from '../rpc/methods.ts';
import type { SolanaNode } from '../rpc/node.ts';

/** A finalized transaction that names an address. It may have failed on chain. */
export interface WalletSignature {
  readonly signature: string;
  readonly slot: bigint;
}

/** How much of a list one call reads. `pagesPerCall`: pages of entries newer than the requested slots. */
export interface HistoryBounds {
  readonly pageSize: number;
  readonly pagesPerCall: number;
}

/** Nodes return at most 1,000 entries per page, and need some seconds for 100 pages. */
export const HISTORY_BOUNDS: HistoryBounds = { pageSize: 1_000, pagesPerCall: 100 };

/** More pages than the transactions within the validity window of a blockhash can fill. */
const MAX_PAGES_WITHIN_SLOTS = 1_000;
const MAX_STORED_PLACES = 50_000;

/** Entries of a list, newest first. `isEnd`: true if the node lists no older entries. */
export interface HistoryPage {
  readonly entries: readonly WalletSignature[];
  readonly isEnd: boolean;
}

/**
 * One page of a node's list for an address, newest first. Starts after `before`, an entry that the same node has
 * listed, or at the newest entry. Null if the node no longer has `before`: it then returns an empty list, as it does at
 * the end of the list. Throws NodeFault if the page does not continue to older entries.
 *
 * The last slot of a full page is left to the next page, because the backends behind one URL can order the entries of a
 * slot differently. A page that starts within a slot could then omit entries. Only a slot that fills a whole page is
 * split.
 */
export async function historyPage(
  node: SolanaNode,
  address: string,
  before: WalletSignature | null,
  limit: number,
): Promise<HistoryPage | null> {
  const page: readonly WalletSignature[] = await getSignaturesForAddress(node, address, {
    limit,
    ...(before === null ? {} : { before: before.signature }),
  });
  if (!continuesBelow(before, page)) throw endlessListError(node, address);
  const isLost =
    before !== null && page.length === 0 && (await getTransaction(node, before.signature)) === null;
  return isLost ? null : wholeSlots(page, limit);
}

function wholeSlots(page: readonly WalletSignature[], limit: number): HistoryPage {
  const end = page.at(-1);
  if (end === undefined || page.length < limit) return { entries: page, isEnd: true };
  const wholeEntries = page.filter(({ slot }) => slot > end.slot);
  return { entries: wholeEntries.length === 0 ? page : wholeEntries, isEnd: false };
}

/** The entries within the slots. `readTo`: the slot that a call has reached if it cannot read all newer entries. */
export type ListedWithin = { readonly entries: readonly WalletSignature[] } | { readonly readTo: bigint };

/**
 * A node's entries for an address in slots above `above` and up to `upTo`, without those for which `skip` returns true.
 * Adds entries to `places`, so that a later call with any `upTo` can continue there.
 */
export async function listWithin(
  node: SolanaNode,
  address: string,
  { above, upTo }: { readonly above: bigint; readonly upTo: bigint },
  skip: (entry: WalletSignature) => boolean,
  places: WalletSignature[],
  { pageSize, pagesPerCall }: HistoryBounds,
): Promise<ListedWithin> {
  const entries: WalletSignature[] = [];
  let last = places.findLast(({ slot }) => slot > upTo) ?? null;
  for (let [newerPages, pagesWithin] = [0, 0]; ; ) {
    const page = await historyPage(node, address, last, pageSize);
    if (page === null) return forgetLostPlaces(places, last, upTo);
    entries.push(...page.entries.filter((one) => one.slot > above && one.slot <= upTo && !skip(one)));
    const end = page.entries.at(-1);
    if (end === undefined || page.isEnd || end.slot <= above) return { entries };
    if (end.slot > upTo) {
      const isLowest = last === (places.at(-1) ?? null);
      if (isLowest && places.length < MAX_STORED_PLACES) places.push(end);
      newerPages += 1;
      if (newerPages === pagesPerCall) return { readTo: end.slot };
    } else {
      pagesWithin += 1;
      if (pagesWithin === MAX_PAGES_WITHIN_SLOTS) throw endlessListError(node, address);
    }
    last = end;
  }
}

/** Removes the place that the node no longer lists, and all older places. */
function forgetLostPlaces(
  places: WalletSignature[],
  lost: WalletSignature | null,
  upTo: bigint,
): ListedWithin {
  const at = places.findIndex(({ signature }) => signature === lost?.signature);
  if (at >= 0) places.splice(at);
  return { readTo: lost?.slot ?? upTo };
}

/**
 * True if the page starts after `last` and no entry is in a newer slot than the one before; otherwise paging might not
 * end.
 */
function continuesBelow(last: WalletSignature | null, page: readonly WalletSignature[]): boolean {
  return page.every((entry, index) => {
    const newer = index === 0 ? last : (page[index - 1] ?? null);
    return newer === null || (entry.slot <= newer.slot && entry.signature !== last?.signature);
  });
}

export function endlessListError(node: SolanaNode, address: string): DomainError {
  const message = `${node.name} getSignaturesForAddress: the pages for address ${address} do not continue to older transactions`;
  return new DomainError('NodeFault', message, { node: node.name });
}
