import type { BlockHeader } from '../../domain/deposit.ts';
import { inParts, MAX_PARSED_BYTES } from '../rpc/answer.ts';
import { NodeFault } from '../rpc/errors.ts';
import { getBlockBytes } from '../rpc/methods.ts';
import type { SolanaNode } from '../rpc/node.ts';
import { scanBlockBytes } from './bytes/match-bytes.ts';
import { limitLongReads, searchParts } from './bytes/oversized-block.ts';
import type { WatchSet } from './bytes/watch-set.ts';
import type { ListedBlock } from './chain-reader.ts';
import type { ListedHeader } from './header-quorum.ts';
import { isSameHeader } from './header-quorum.ts';
import { type BlockSource, type Search, searchBlock } from './search.ts';

/**
 * The block's bytes, kept for a second search when the watch set grows. For a block too large to keep, only its
 * possible addresses are kept; if one is a new wallet, the block is fetched again.
 */
export type Kept =
  | { readonly kind: 'bytes'; readonly bytes: Uint8Array }
  | { readonly kind: 'names'; readonly names: WatchSet };

export interface SearchedBlock extends ListedBlock, Search {
  readonly kept: Kept;
  readonly node: string;
}

/** A block from the database, or one whose transactions nodes have listed, too. */
export type ExpectedBlock = BlockHeader & Partial<Pick<ListedHeader, 'listed'>>;

/**
 * A node's block of a slot, searched. Throws NodeFault if the node returns none, an incomplete one, another than
 * `expected` or other transactions; and if `over` aborts.
 */
export async function fetchBlock(
  node: SolanaNode,
  slot: bigint,
  commitment: 'confirmed' | 'finalized',
  watched: WatchSet,
  expected?: ExpectedBlock,
  over?: AbortSignal,
): Promise<SearchedBlock> {
  const shown = await fetchBlockOrNull(node, slot, commitment, watched, expected, over);
  if (shown === null) throw new NodeFault(node.name, `getBlock: returns no block ${slot}`);
  return shown;
}

/** {@link fetchBlock}; null if the node answers null. */
export async function fetchBlockOrNull(
  node: SolanaNode,
  slot: bigint,
  commitment: 'confirmed' | 'finalized',
  watched: WatchSet,
  expected?: ExpectedBlock,
  over?: AbortSignal,
): Promise<SearchedBlock | null> {
  const read = (parts: AsyncIterable<Uint8Array>) =>
    limitLongReads(node, () => searchParts(parts, slot, watched, node), over);
  const shown = await getBlockBytes(node, slot, commitment, read, over);
  if (shown === null) return null;
  const block =
    'envelope' in shown ? shown : (ofBytes(shown, slot, watched, node) ?? (await read(inParts(shown))));
  if (expected !== undefined && !isSameHeader(block.header, expected))
    throw new NodeFault(node.name, `getBlock: returns another block ${slot} than ${expected.blockhash}`);
  if (expected?.listed !== undefined && expected.listed !== block.listed)
    throw new NodeFault(node.name, `getBlock: returns other transactions in block ${slot} than nodes list`);
  const { header, listed, candidates, transactions, kept, size } = block;
  return { header, listed, candidates, transactions, kept, size, node: node.name };
}

/** Null if the answer is very long and only a parse could decide. */
function ofBytes(bytes: Uint8Array, slot: bigint, watched: WatchSet, node: BlockSource) {
  const scan = scanBlockBytes(bytes, watched);
  if (scan.mustParse && bytes.byteLength > MAX_PARSED_BYTES) return null;
  const kept = { kind: 'bytes', bytes } as const;
  return { ...searchBlock(bytes, slot, watched, node, scan), kept, size: bytes.byteLength };
}
