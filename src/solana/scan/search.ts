import type { BlockHeader, ScannedTransaction } from '../../domain/deposit.ts';
import type { SolanaNode } from '../rpc/node.ts';
import { readBlock, readTransactionsAt } from './block.ts';
import { type BlockScan, scanBlockBytes } from './bytes/match-bytes.ts';
import type { NameFilter } from './bytes/name-filter.ts';
import type { WatchSet } from './bytes/watch-set.ts';
import { listOf, nameOf } from './listing.ts';

/** What the search of a block for watched wallets came to. */
export interface Search {
  readonly header: BlockHeader;
  /** See {@link listingOf}. */
  readonly listed: string;
  /** Addresses in the block that the watch set takes for ours. */
  readonly candidates: readonly string[];
  /** The transactions that hold one, at least. */
  readonly transactions: readonly ScannedTransaction[];
}

/** What is found among some transactions of a block, or all of them; `list`: their names, see `listOf`. */
export interface Found extends Pick<Search, 'candidates' | 'transactions'> {
  readonly list: Uint8Array;
}

/** The node that shows a block. */
export type Shower = Pick<SolanaNode, 'name' | 'maxTransactionVersion'>;

/** Searches the bytes of a getBlock answer by what {@link scanBlockBytes} tells of them. Throws as `readBlock` does. */
export function searchBlock(
  bytes: Uint8Array,
  slot: bigint,
  watched: WatchSet,
  node: Shower,
  scan: BlockScan = scanBlockBytes(bytes, watched),
): Search {
  const { header, found } = searchAnswer(bytes, slot, watched, node, undefined, scan);
  const { list, candidates, transactions } = found;
  return { header, listed: nameOf([list]), candidates, transactions };
}

/** {@link searchBlock} for an answer that is a piece of one. Whatever may be an address in it is added to `names`. */
export function searchAnswer(
  bytes: Uint8Array,
  slot: bigint,
  watched: WatchSet,
  node: Shower,
  names?: NameFilter,
  scan: BlockScan = scanBlockBytes(bytes, watched, names),
): { readonly header: BlockHeader; readonly found: Found } {
  const options = { node: node.name, maxTransactionVersion: node.maxTransactionVersion };
  if (!scan.mustParse) {
    const { header, list, candidates, hitTransactions } = scan;
    const transactions = readTransactionsAt(bytes, hitTransactions, slot, options);
    return { header: { slot, ...header }, found: { list, candidates, transactions } };
  }
  const { header, transactions } = readBlock(bytes, slot, options);
  const candidates = new Set<string>();
  const hits = transactions.filter((transaction) => {
    const addresses = addressesOf(transaction);
    for (const address of addresses) names?.add(address);
    const found = addresses.filter((address) => watched.has(address));
    for (const address of found) candidates.add(address);
    return found.length > 0;
  });
  const list = listOf(transactions.map(({ signature }) => signature));
  return { header, found: { list, candidates: [...candidates], transactions: hits } };
}

/** Every address that a transaction can move money of. */
export function addressesOf({ accounts, tokens }: ScannedTransaction): readonly string[] {
  const owners = tokens.flatMap(({ before, after }) => [before?.owner ?? [], after?.owner ?? []].flat());
  return [...accounts.map(({ address }) => address), ...owners];
}
