import { DomainError } from '../../domain/errors.ts';
import { getSignaturesForAddress, getTransaction } from '../rpc/methods.ts';
import type { SolanaNode } from '../rpc/node.ts';

/** A finalized transaction that names an address, failed ones included. */
export interface WalletSignature {
  readonly signature: string;
  readonly slot: bigint;
}

/** How much of a list one call reads: entries per page, and pages of newer entries before the requested slots. */
export interface HistoryBounds {
  readonly pageSize: number;
  readonly pagesPerCall: number;
}

/** The most entries that nodes return per page, and pages that take a node some seconds. */
export const HISTORY_BOUNDS: HistoryBounds = { pageSize: 1_000, pagesPerCall: 100 };

/** More pages than the transactions of a blockhash's life can fill. */
const MAX_PAGES_WITHIN_SLOTS = 1_000;
const MAX_STORED_PLACES = 50_000;

/** Entries of a list, newest first. `isEnd`: the node lists no older ones. */
export interface HistoryPage {
  readonly entries: readonly WalletSignature[];
  readonly isEnd: boolean;
}

/**
 * One page of a node's list for an address, newest first: older than `before`, which the same node has listed, or
 * from the newest on. Null if the node no longer has `before`: it then returns an empty list, as at the end. Throws
 * NodeFault if the page does not continue to older entries.
 *
 * The last slot of a full page is left to the next page. The backends behind one URL may order the entries of a slot
 * differently, so another backend may leave out entries after one within a slot. Only a slot that fills a whole page
 * is split.
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

/** The entries within some slots; or, if one call cannot read all newer ones, the slot that it has reached. */
export type ListedWithin = { readonly entries: readonly WalletSignature[] } | { readonly readTo: bigint };

/**
 * A node's entries for an address in slots above `above` and up to `upTo`, without those that `skip` leaves out.
 * `places` stores where the next call continues, for any `upTo`.
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

/** Removes the place that the node has lost, and all older ones. */
function forgetLostPlaces(
  places: WalletSignature[],
  lost: WalletSignature | null,
  upTo: bigint,
): ListedWithin {
  const at = places.findIndex(({ signature }) => signature === lost?.signature);
  if (at >= 0) places.splice(at);
  return { readTo: lost?.slot ?? upTo };
}

/** True if the page begins after `last` and never returns to newer slots: otherwise the list would never end. */
function continuesBelow(last: WalletSignature | null, page: readonly WalletSignature[]): boolean {
  return page.every((entry, index) => {
    const newer = index === 0 ? last : (page[index - 1] ?? null);
    return newer === null || (entry.slot <= newer.slot && entry.signature !== last?.signature);
  });
}

export function endlessListError(node: SolanaNode, address: string): DomainError {
  const message = `${node.name} getSignaturesForAddress: the pages for ${address} do not continue to older transactions`;
  return new DomainError('NodeFault', message, { node: node.name });
}
