import type { BlockHeader, ScannedTransaction } from '../../domain/deposit.ts';
import type { SolanaNode } from '../rpc/node.ts';
import { readBlock, readTransactionsAt } from './block.ts';
import { type BlockScan, scanBlockBytes } from './bytes/match-bytes.ts';
import type { WatchSet } from './bytes/watch-set.ts';
import { hashOfList, signatureListOf } from './listing.ts';

export interface Search {
  readonly header: BlockHeader;
  /** See `signaturesHashOf`. */
  readonly signaturesHash: string;
  /** Addresses in the block that are in the watch set. A few are false positives. */
  readonly candidates: readonly string[];
  /** All transactions that name a candidate, and possibly others. */
  readonly transactions: readonly ScannedTransaction[];
}

/** The result for some or all transactions of a block. `signatureList`: see `signatureListOf`. */
export interface SearchMatches extends Pick<Search, 'candidates' | 'transactions'> {
  readonly signatureList: Uint8Array;
}

export type BlockSource = Pick<SolanaNode, 'name' | 'maxTransactionVersion'>;

export interface BlockSearch {
  readonly slot: bigint;
  readonly watched: WatchSet;
  /** The node that returned the answer. */
  readonly node: BlockSource;
  /** Result of `scanBlockBytes`. Default: the bytes are scanned. */
  readonly scan?: BlockScan;
}

/** Searches a getBlock answer for watched wallets. Throws as `readBlock` does. */
export function searchBlock(bytes: Uint8Array, search: BlockSearch): Search {
  const { header, matches } = searchAnswer(bytes, search);
  const { signatureList, candidates, transactions } = matches;
  return { header, signaturesHash: hashOfList(signatureList), candidates, transactions };
}

/** Like {@link searchBlock}, for a piece of an answer. Adds every address in the piece to `seenAddresses`. */
export function searchAnswer(
  bytes: Uint8Array,
  { slot, watched, node, ...rest }: BlockSearch,
  seenAddresses?: WatchSet,
): { readonly header: BlockHeader; readonly matches: SearchMatches } {
  const scan = rest.scan ?? scanBlockBytes(bytes, watched, seenAddresses);
  const options = { node: node.name, maxTransactionVersion: node.maxTransactionVersion };
  if (!scan.mustParse) {
    const { header, signatureList, candidates, hitTransactions } = scan;
    const transactions = readTransactionsAt(bytes, hitTransactions, slot, options);
    return { header: { slot, ...header }, matches: { signatureList, candidates, transactions } };
  }
  const { header, transactions } = readBlock(bytes, slot, options);
  const candidates = new Set<string>();
  const hits = transactions.filter((transaction) => {
    const addresses = addressesOf(transaction);
    for (const address of addresses) seenAddresses?.add(address);
    const watchedAddresses = addresses.filter((address) => watched.has(address));
    for (const address of watchedAddresses) candidates.add(address);
    return watchedAddresses.length > 0;
  });
  const signatureList = signatureListOf(transactions.map(({ signature }) => signature));
  return { header, matches: { signatureList, candidates: [...candidates], transactions: hits } };
}

/** The account keys of a transaction and the owners of its token balances, possibly with duplicates. */
export function addressesOf({ accounts, tokens }: ScannedTransaction): readonly string[] {
  const owners = tokens.flatMap(({ before, after }) => [before?.owner ?? [], after?.owner ?? []].flat());
  return [...accounts.map(({ address }) => address), ...owners];
}
