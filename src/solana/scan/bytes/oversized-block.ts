import type { ScannedTransaction } from '../../../domain/deposit.ts';
import { NodeFault } from '../../rpc/errors.ts';
import type { Condensed } from '../../rpc/node.ts';
import { Listing } from '../listing.ts';
import { essenceOf } from '../relevant-changes.ts';
import { type Found, type Search, type Shower, searchAnswer } from '../search.ts';
import { Unreadable } from './json-bytes.ts';
import { NameFilter } from './name-filter.ts';
import { cutBlock } from './splitter.ts';
import type { WatchSet } from './watch-set.ts';

/** What was found in a block too long to be held. */
export interface LongBlock extends Search, Condensed {
  readonly kept: { readonly kind: 'names'; readonly names: NameFilter };
  /** About how many bytes are kept of it, besides what was found. */
  readonly size: number;
}

/** What a long answer may come to. */
export interface LongBounds {
  /** Bytes that are searched at once. */
  readonly pieceBytes: number;
  /** A block has 100 million compute units at most (SIMD-0286); its signature and a write lock cost a transaction 1,020. */
  readonly transactions: number;
  /**
   * Accounts and token balances of ours that change or sign, and wallets of ours that are named: an account that changes costs 300 compute
   * units, and one that is named for the first time a place in a lookup table.
   */
  readonly findings: number;
  /** Bytes of the {@link NameFilter}. Default: as that says. */
  readonly nameBytes?: number;
}

const BOUNDS: LongBounds = { pieceBytes: 4 * 1_024 * 1_024, transactions: 2 ** 17, findings: 2 ** 20 };

/**
 * Searches the answer to a getBlock while it comes, piece by piece, by the rules of `searchBlock`; transactions are found without what is
 * nothing to our wallets (see {@link essenceOf}), or anybody could fill memory with those that name one. Throws NodeFault for an
 * answer that is none, or not whole, or more than a block can be, and as `searchBlock` and `parts` do.
 */
export async function searchParts(
  parts: AsyncIterable<Uint8Array>,
  slot: bigint,
  watched: WatchSet,
  node: Shower,
  narrower: Partial<LongBounds> = {},
): Promise<LongBlock> {
  const bounds = { ...BOUNDS, ...narrower };
  const names = new NameFilter(bounds.nameBytes);
  const findings = new Findings(bounds);
  const search = (bytes: Buffer) => {
    const { header, found: piece } = searchAnswer(bytes, slot, watched, node, names);
    findings.add(piece);
    return header;
  };
  try {
    for await (const cut of cutBlock(parts, bounds.pieceBytes)) {
      if ('transactions' in cut) search(cut.transactions);
      else {
        const header = search(cut.rim);
        const size = cut.rim.length + names.byteLength;
        return { header, ...findings.search(), rim: cut.rim, size, kept: { kind: 'names', names } };
      }
    }
    throw new Unreadable('a block without a rim');
  } catch (error) {
    if (!(error instanceof Unreadable)) throw error;
    throw new NodeFault(node.name, `getBlock: block ${slot}: ${error.message}`, { method: 'getBlock' });
  }
}

/** What was found in all pieces so far, never more than a block can hold. */
class Findings {
  readonly #bounds: LongBounds;
  readonly #listing = new Listing();
  readonly #candidates = new Set<string>();
  readonly #transactions: ScannedTransaction[] = [];
  #changes = 0;

  constructor(bounds: LongBounds) {
    this.#bounds = bounds;
  }

  add({ list, candidates, transactions }: Found): void {
    this.#listing.add(list);
    if (this.#listing.size > this.#bounds.transactions)
      throw new Unreadable(`it has more than ${this.#bounds.transactions} transactions`);
    const mine = new Set(candidates);
    for (const address of mine) this.#candidates.add(address);
    for (const transaction of transactions)
      this.#keep(essenceOf(transaction, (address) => mine.has(address)));
    if (Math.max(this.#changes, this.#candidates.size) > this.#bounds.findings)
      throw new Unreadable(`it shows more than ${this.#bounds.findings} wallets of ours, or changes of them`);
  }

  search(): Omit<Search, 'header'> {
    return {
      listed: this.#listing.name(),
      candidates: [...this.#candidates],
      transactions: this.#transactions,
    };
  }

  #keep(essence: ScannedTransaction | null): void {
    if (essence === null) return;
    this.#transactions.push(essence);
    this.#changes += essence.accounts.length + essence.tokens.length;
  }
}
