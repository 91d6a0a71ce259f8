import type { BlockHeader, ScannedTransaction } from '../../domain/deposit.ts';
import type { SolanaNode } from '../rpc/node.ts';
import { readBlock, readTransactionsAt } from './block.ts';
import { type BlockScan, scanBlockBytes } from './bytes/match-bytes.ts';
import type { WatchSet } from './bytes/watch-set.ts';
import { hashOfList, signatureListOf } from './listing.ts';

export interface Search {
  readonly header: BlockHeader;
  /** See {@link listingOf}. */
  readonly signaturesHash: string;
  /** Addresses in the block that the watch set accepts as ours. */
  readonly candidates: readonly string[];
  /** At least all transactions with a candidate. */
  readonly transactions: readonly ScannedTransaction[];
}

/** The result for some or all transactions of a block; `list`: their signatures, see `listOf`. */
export interface SearchMatches extends Pick<Search, 'candidates' | 'transactions'> {
  readonly signatureList: Uint8Array;
}

export type BlockSource = Pick<SolanaNode, 'name' | 'maxTransactionVersion'>;

/** Searches the bytes of a getBlock answer after {@link scanBlockBytes}. Throws as `readBlock` does. */
export function searchBlock(
  bytes: Uint8Array,
  slot: bigint,
  watched: WatchSet,
  node: BlockSource,
  scan: BlockScan = scanBlockBytes(bytes, watched),
): Search {
  const { header, found } = searchAnswer(bytes, slot, watched, node, undefined, scan);
  const { signatureList: list, candidates, transactions } = found;
  return { header, signaturesHash: hashOfList(list), candidates, transactions };
}

/** Like {@link searchBlock}, for a piece of an answer. Every possible address in it is added to `names`. */
export function searchAnswer(
  bytes: Uint8Array,
  slot: bigint,
  watched: WatchSet,
  node: BlockSource,
  seenAddresses?: WatchSet,
  scan: BlockScan = scanBlockBytes(bytes, watched, seenAddresses),
): { readonly header: BlockHeader; readonly found: SearchMatches } {
  const options = { node: node.name, maxTransactionVersion: node.maxTransactionVersion };
  if (!scan.mustParse) {
    const { header, signatureList: list, candidates, hitTransactions } = scan;
    const transactions = readTransactionsAt(bytes, hitTransactions, slot, options);
    return { header: { slot, ...header }, found: { signatureList: list, candidates, transactions } };
  }
  const { header, transactions } = readBlock(bytes, slot, options);
  const candidates = new Set<string>();
  const hits = transactions.filter((transaction) => {
    const addresses = addressesOf(transaction);
    for (const address of addresses) seenAddresses?.add(address);
    const found = addresses.filter((address) => watched.has(address));
    for (const address of found) candidates.add(address);
    return found.length > 0;
  });
  const list = signatureListOf(transactions.map(({ signature }) => signature));
  return { header, found: { signatureList: list, candidates: [...candidates], transactions: hits } };
}

/** Every address whose balances a transaction can change. */
export function addressesOf({ accounts, tokens }: ScannedTransaction): readonly string[] {
  const owners = tokens.flatMap(({ before, after }) => [before?.owner ?? [], after?.owner ?? []].flat());
  return [...accounts.map(({ address }) => address), ...owners];
}
