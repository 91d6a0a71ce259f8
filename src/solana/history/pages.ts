import { DomainError } from '../../domain/errors.ts';
import { getSignaturesForAddress, getTransaction } from '../rpc/methods.ts';
import type { SolanaNode } from '../rpc/node.ts';

/** A finalized transaction that names an address, failed ones included. */
export interface WalletSignature {
  readonly signature: string;
  readonly slot: bigint;
}

/** How much of a list one look reads: entries of a page, and pages beside those that hold what is looked for. */
export interface HistoryBounds {
  readonly pageSize: number;
  readonly pagesALook: number;
}

/** The most that nodes put into one page, and what takes them some seconds. */
export const HISTORY_BOUNDS: HistoryBounds = { pageSize: 1_000, pagesALook: 100 };

/** More than so many slots as a blockhash lives can name any address in. */
const PAGES_WITHIN = 1_000;
const PLACES_KEPT = 50_000;

/** Entries of a list, the newest first; `isEnd`: the node lists nothing below them. */
export interface HistoryPage {
  readonly entries: readonly WalletSignature[];
  readonly isEnd: boolean;
}

/**
 * One page of what a node lists of an address, the newest first: below `before`, which the same node has listed, or from the newest on.
 * Null where the node has lost `before`: it lists nothing then, which is how a list ends. Throws NodeFault where the page does not go on
 * to older ones.
 *
 * The slot in which a full page ends is left to the next page: the backends of a node may order the entries of one slot differently, and
 * below an entry within a slot another backend may leave some out. Only a slot that fills a whole page is split.
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
  if (!goesOn(before, page)) throw endless(node, address);
  const isLost =
    before !== null && page.length === 0 && (await getTransaction(node, before.signature)) === null;
  return isLost ? null : wholeSlots(page, limit);
}

function wholeSlots(page: readonly WalletSignature[], limit: number): HistoryPage {
  const end = page.at(-1);
  if (end === undefined || page.length < limit) return { entries: page, isEnd: true };
  const whole = page.filter(({ slot }) => slot > end.slot);
  return { entries: whole.length === 0 ? page : whole, isEnd: false };
}

/** What is listed within some slots; or, where newer ones are too many for one look, the slot down to which they are read. */
export type ListedWithin = { readonly entries: readonly WalletSignature[] } | { readonly readTo: bigint };

/**
 * What a node lists of an address in slots above `above` and up to `upTo`, without what `skip` tells to leave out. `places` keeps where
 * the next look goes on, for any `upTo`.
 */
export async function listWithin(
  node: SolanaNode,
  address: string,
  { above, upTo }: { readonly above: bigint; readonly upTo: bigint },
  skip: (entry: WalletSignature) => boolean,
  places: WalletSignature[],
  { pageSize, pagesALook }: HistoryBounds,
): Promise<ListedWithin> {
  const found: WalletSignature[] = [];
  let last = places.findLast(({ slot }) => slot > upTo) ?? null;
  for (let [newer, within] = [0, 0]; ; ) {
    const page = await historyPage(node, address, last, pageSize);
    if (page === null) return forget(places, last, upTo);
    found.push(...page.entries.filter((one) => one.slot > above && one.slot <= upTo && !skip(one)));
    const end = page.entries.at(-1);
    if (end === undefined || page.isEnd || end.slot <= above) return { entries: found };
    if (end.slot > upTo) {
      const isLowest = last === (places.at(-1) ?? null);
      if (isLowest && places.length < PLACES_KEPT) places.push(end);
      newer += 1;
      if (newer === pagesALook) return { readTo: end.slot };
    } else {
      within += 1;
      if (within === PAGES_WITHIN) throw endless(node, address);
    }
    last = end;
  }
}

/** Without the place that the node has lost, and those below it. */
function forget(places: WalletSignature[], lost: WalletSignature | null, upTo: bigint): ListedWithin {
  const at = places.findIndex(({ signature }) => signature === lost?.signature);
  if (at >= 0) places.splice(at);
  return { readTo: lost?.slot ?? upTo };
}

/** True where the page begins after `last` and never turns to newer slots: otherwise its end would never come. */
function goesOn(last: WalletSignature | null, page: readonly WalletSignature[]): boolean {
  return page.every((entry, index) => {
    const newer = index === 0 ? last : (page[index - 1] ?? null);
    return newer === null || (entry.slot <= newer.slot && entry.signature !== last?.signature);
  });
}

/** For a list that has more pages than there can be. */
export function endless(node: SolanaNode, address: string): DomainError {
  const message = `${node.name} getSignaturesForAddress: the pages for ${address} do not go on to older transactions`;
  return new DomainError('NodeFault', message, { node: node.name });
}
