import { essenceOf } from '../../domain/essence.ts';
import { NodeFault } from '../rpc/errors.ts';
import type { Condensed } from '../rpc/node.ts';
import { cutBlock } from './cut.ts';
import { Unreadable } from './json-bytes.ts';
import { nameOf } from './listing.ts';
import { type Found, type Search, type Shower, searchPiece } from './search.ts';
import { WatchSet } from './watch-set.ts';

/** What was found in a block too long to be held. */
export interface LongBlock extends Search, Condensed {
  readonly kept: { readonly kind: 'names'; readonly names: WatchSet };
  /** Bytes of the pieces that it was searched in. */
  readonly size: number;
}

/**
 * Searches the answer to a getBlock while it comes, piece by piece, by the rules of `searchBlock`; transactions are found without what is
 * nothing to our wallets (see {@link essenceOf}), or anybody could fill memory with those that name one. Throws NodeFault for an
 * answer that is none, or not whole, and as `searchBlock` and `parts` do.
 */
export async function searchParts(
  parts: AsyncIterable<Uint8Array>,
  slot: bigint,
  watched: WatchSet,
  node: Shower,
  pieceBytes?: number,
): Promise<LongBlock> {
  const names = new WatchSet(0);
  const found: Found[] = [];
  let rim: Buffer = Buffer.alloc(0);
  let size = 0;
  try {
    for await (const piece of cutBlock(parts, pieceBytes)) {
      found.push(essential(searchPiece(piece, slot, watched, node, names)));
      rim = piece;
      size += piece.length;
    }
  } catch (error) {
    if (!(error instanceof Unreadable)) throw error;
    throw new NodeFault(node.name, `getBlock: block ${slot}: ${error.message}`, { method: 'getBlock' });
  }
  return { ...joined(found), rim, size, kept: { kind: 'names', names } };
}

function essential(piece: Found): Found {
  const mine = new Set(piece.candidates);
  const transactions = piece.transactions.flatMap(
    (transaction) => essenceOf(transaction, (address) => mine.has(address)) ?? [],
  );
  return { ...piece, transactions };
}

/** The last piece is the rim, which has the header of all. */
function joined(pieces: readonly Found[]): Search {
  const rim = pieces.at(-1);
  if (rim === undefined) throw new Unreadable('a block without a rim');
  return {
    header: rim.header,
    listed: nameOf(pieces.map(({ list }) => list)),
    candidates: [...new Set(pieces.flatMap(({ candidates }) => candidates))],
    transactions: pieces.flatMap(({ transactions }) => transactions),
  };
}
