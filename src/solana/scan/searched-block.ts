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
export type RetainedBlock =
  | { readonly kind: 'bytes'; readonly bytes: Uint8Array }
  | { readonly kind: 'names'; readonly names: WatchSet };

export interface SearchedBlock extends ListedBlock, Search {
  readonly retained: RetainedBlock;
  readonly node: string;
}

/** A block from the database, or one whose transactions nodes have listed, too. */
export type ExpectedBlock = BlockHeader & Partial<Pick<ListedHeader, 'signaturesHash'>>;

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
  signal?: AbortSignal,
): Promise<SearchedBlock> {
  const block = await fetchBlockOrNull(node, slot, commitment, watched, expected, signal);
  if (block === null) throw new NodeFault(node.name, `getBlock: returns no block ${slot}`);
  return block;
}

/** {@link fetchBlock}; null if the node answers null. */
export async function fetchBlockOrNull(
  node: SolanaNode,
  slot: bigint,
  commitment: 'confirmed' | 'finalized',
  watched: WatchSet,
  expected?: ExpectedBlock,
  signal?: AbortSignal,
): Promise<SearchedBlock | null> {
  const read = (parts: AsyncIterable<Uint8Array>) =>
    limitLongReads(node, () => searchParts(parts, slot, watched, node), signal);
  const answer = await getBlockBytes(node, slot, commitment, read, signal);
  if (answer === null) return null;
  const block =
    'envelope' in answer
      ? answer
      : (searchBytesOrNull(answer, slot, watched, node) ?? (await read(inParts(answer))));
  if (expected !== undefined && !isSameHeader(block.header, expected))
    throw new NodeFault(node.name, `getBlock: returns another block ${slot} than ${expected.blockhash}`);
  if (expected?.signaturesHash !== undefined && expected.signaturesHash !== block.signaturesHash)
    throw new NodeFault(node.name, `getBlock: returns other transactions in block ${slot} than nodes list`);
  const { header, signaturesHash: listed, candidates, transactions, kept, size } = block;
  return { header, signaturesHash: listed, candidates, transactions, retained: kept, size, node: node.name };
}

/** Null if the answer is very long and only a parse could decide. */
function searchBytesOrNull(bytes: Uint8Array, slot: bigint, watched: WatchSet, node: BlockSource) {
  const scan = scanBlockBytes(bytes, watched);
  if (scan.mustParse && bytes.byteLength > MAX_PARSED_BYTES) return null;
  const kept = { kind: 'bytes', bytes } as const;
  return { ...searchBlock(bytes, slot, watched, node, scan), kept, size: bytes.byteLength };
}
