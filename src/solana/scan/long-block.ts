import { essenceOf } from '../../domain/essence.ts';
import { NodeFault } from '../rpc/errors.ts';
import type { Condensed } from '../rpc/node.ts';
import { cutBlock } from './cut.ts';
import { Unreadable } from './json-bytes.ts';
import { nameOf } from './listing.ts';
import { type Found, type Search, type Shower, searchAnswer } from './search.ts';
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
  let size = 0;
  const search = (bytes: Buffer) => {
    size += bytes.length;
    const { header, found: piece } = searchAnswer(bytes, slot, watched, node, names);
    found.push(essential(piece));
    return header;
  };
  try {
    for await (const cut of cutBlock(parts, pieceBytes)) {
      if ('transactions' in cut) search(cut.transactions);
      else {
        const header = search(cut.rim);
        return { header, ...joined(found), rim: cut.rim, size, kept: { kind: 'names', names } };
      }
    }
    throw new Unreadable('a block without a rim');
  } catch (error) {
    if (!(error instanceof Unreadable)) throw error;
    throw new NodeFault(node.name, `getBlock: block ${slot}: ${error.message}`, { method: 'getBlock' });
  }
}

function essential(piece: Found): Found {
  const mine = new Set(piece.candidates);
  const transactions = piece.transactions.flatMap(
    (transaction) => essenceOf(transaction, (address) => mine.has(address)) ?? [],
  );
  return { ...piece, transactions };
}

function joined(pieces: readonly Found[]): Omit<Search, 'header'> {
  return {
    listed: nameOf(pieces.map(({ list }) => list)),
    candidates: [...new Set(pieces.flatMap(({ candidates }) => candidates))],
    transactions: pieces.flatMap(({ transactions }) => transactions),
  };
}
