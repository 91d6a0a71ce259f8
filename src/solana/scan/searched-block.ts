import type { BlockHeader, ScannedTransaction } from '../../domain/deposit.ts';
import { NodeFault } from '../rpc/errors.ts';
import { getBlockBytes } from '../rpc/methods.ts';
import type { SolanaNode } from '../rpc/node.ts';
import { readBlock, readTransactionsAt } from './block.ts';
import type { ShownBlock } from './chain-reader.ts';
import type { ListedHeader } from './header-book.ts';
import { isSameHeader } from './header-book.ts';
import { listingOf } from './listing.ts';
import { scanBlockBytes } from './match-bytes.ts';
import type { WatchSet } from './watch-set.ts';

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

/** A block as one node showed it; `bytes` can be searched again. */
export interface SearchedBlock extends ShownBlock, Search {
  readonly bytes: Uint8Array;
  readonly node: string;
}

/** A block on record, or one of which nodes have listed the transactions, too. */
export type ExpectedBlock = BlockHeader & Partial<Pick<ListedHeader, 'listed'>>;

/**
 * The block that a node shows for a slot, searched. Throws NodeFault where it shows none, another than `expected` or other transactions
 * in it, or half of one.
 */
export async function showBlock(
  node: SolanaNode,
  slot: bigint,
  commitment: 'confirmed' | 'finalized',
  watched: WatchSet,
  expected?: ExpectedBlock,
): Promise<SearchedBlock> {
  const shown = await blockShownBy(node, slot, commitment, watched, expected);
  if (shown === null) throw new NodeFault(node.name, `getBlock: shows no block ${slot}`);
  return shown;
}

/** {@link showBlock}; null where the node answers null. */
export async function blockShownBy(
  node: SolanaNode,
  slot: bigint,
  commitment: 'confirmed' | 'finalized',
  watched: WatchSet,
  expected?: ExpectedBlock,
): Promise<SearchedBlock | null> {
  const bytes = await getBlockBytes(node, slot, commitment);
  if (bytes === null) return null;
  const search = searchBlock(bytes, slot, watched, node);
  if (expected !== undefined && !isSameHeader(search.header, expected))
    throw new NodeFault(node.name, `getBlock: shows another block ${slot} than ${expected.blockhash}`);
  if (expected?.listed !== undefined && expected.listed !== search.listed)
    throw new NodeFault(node.name, `getBlock: shows other transactions in block ${slot} than nodes list`);
  return { ...search, bytes, node: node.name, size: bytes.byteLength };
}

/** Searches the bytes of a getBlock answer; see `scanBlockBytes`. Throws as `readBlock` does. */
export function searchBlock(
  bytes: Uint8Array,
  slot: bigint,
  watched: WatchSet,
  node: Pick<SolanaNode, 'name' | 'maxTransactionVersion'>,
): Search {
  const options = { node: node.name, maxTransactionVersion: node.maxTransactionVersion };
  const scan = scanBlockBytes(bytes, watched);
  if (!scan.mustParse) {
    const { header, listed, candidates, hitTransactions } = scan;
    const transactions = readTransactionsAt(bytes, hitTransactions, slot, options);
    return { header: { slot, ...header }, listed, candidates, transactions };
  }
  const { header, transactions } = readBlock(bytes, slot, options);
  const candidates = new Set<string>();
  const hits = transactions.filter((transaction) => {
    const found = addressesOf(transaction).filter((address) => watched.has(address));
    for (const address of found) candidates.add(address);
    return found.length > 0;
  });
  const listed = listingOf(transactions.map(({ signature }) => signature));
  return { header, listed, candidates: [...candidates], transactions: hits };
}

/** Every address that a transaction can move money of. */
export function addressesOf({ accounts, tokens }: ScannedTransaction): readonly string[] {
  const owners = tokens.flatMap(({ before, after }) => [before?.owner ?? [], after?.owner ?? []].flat());
  return [...accounts.map(({ address }) => address), ...owners];
}
