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
 * What is retained of a block for a second search after the watch set has grown: the bytes of the getBlock answer, or
 * for an oversized block only its addresses. If one of these is a new wallet, the block is fetched again.
 */
export type RetainedBlock =
  | { readonly kind: 'bytes'; readonly bytes: Uint8Array }
  | { readonly kind: 'names'; readonly names: WatchSet };

export interface SearchedBlock extends ListedBlock, Search {
  readonly retained: RetainedBlock;
  readonly node: string;
}

/** The header that a fetched block must have. The signatures are compared only if `signaturesHash` is set. */
export type ExpectedBlock = BlockHeader & Partial<Pick<ListedHeader, 'signaturesHash'>>;

export interface BlockRequest {
  readonly slot: bigint;
  readonly commitment: 'confirmed' | 'finalized';
  readonly watched: WatchSet;
  readonly expected?: ExpectedBlock | undefined;
  readonly signal?: AbortSignal | undefined;
}

/**
 * Fetches the block of a slot from one node and searches it for watched wallets. Throws NodeFault if the node returns
 * no block, an incomplete block, or a block that differs from `expected`; also if `signal` is aborted.
 */
export async function fetchBlock(node: SolanaNode, request: BlockRequest): Promise<SearchedBlock> {
  const block = await fetchBlockOrNull(node, request);
  if (block === null)
    throw new NodeFault(
      node.name,
      `getBlock: the answer for slot ${request.slot} is null: it contains no block`,
    );
  return block;
}

/** Like {@link fetchBlock}, but null if the node returns null. */
export async function fetchBlockOrNull(
  node: SolanaNode,
  { slot, commitment, watched, expected, signal }: BlockRequest,
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
    throw new NodeFault(
      node.name,
      `getBlock: the block of slot ${slot} is not block ${expected.blockhash}, which was requested`,
    );
  if (expected?.signaturesHash !== undefined && expected.signaturesHash !== block.signaturesHash)
    throw new NodeFault(
      node.name,
      `getBlock: block ${slot} has other signatures than the agreed block header`,
    );
  const { header, signaturesHash, candidates, transactions, retained, size } = block;
  return { header, signaturesHash, candidates, transactions, retained, size, node: node.name };
}

/** Null if the answer must be parsed but is too long for that. */
function searchBytesOrNull(bytes: Uint8Array, slot: bigint, watched: WatchSet, node: BlockSource) {
  const scan = scanBlockBytes(bytes, watched);
  if (scan.mustParse && bytes.byteLength > MAX_PARSED_BYTES) return null;
  const retained = { kind: 'bytes', bytes } as const;
  return { ...searchBlock(bytes, { slot, watched, node, scan }), retained, size: bytes.byteLength };
}
