import { createHash } from 'node:crypto';
import type { ScannedTransaction } from '../../../domain/deposit.ts';
import { NodeFault } from '../../rpc/errors.ts';
import type { StreamedAnswer } from '../../rpc/node.ts';
import { RateLimiter, RateLimitTimeout } from '../../rpc/rate-limiter.ts';
import { withAbort } from '../../rpc/with-abort.ts';
import { END } from '../listing.ts';
import { relevantChanges } from '../relevant-changes.ts';
import { type BlockSource, type Search, type SearchMatches, searchAnswer } from '../search.ts';
import { Unreadable } from './json-bytes.ts';
import { splitBlock } from './splitter.ts';
import { WatchSet } from './watch-set.ts';

export interface LongBlock extends Search, StreamedAnswer {
  readonly kept: { readonly kind: 'names'; readonly names: WatchSet };
  /** Approximate bytes kept of it, without the search result. */
  readonly size: number;
}

export interface LongBounds {
  readonly pieceBytes: number;
  /** A block has at most 100 million compute units (SIMD-0286); signature and write lock cost a transaction 1,020. */
  readonly transactions: number;
  /**
   * Accounts and token balances of ours that change or sign, and wallets of ours that are named. A changed account
   * costs 300 compute units; an account named for the first time costs an entry in a lookup table.
   */
  readonly findings: number;
  /** Different addresses. A block full of lookup tables names at most 2.5 million. */
  readonly names: number;
}

const BOUNDS: LongBounds = {
  pieceBytes: 4 * 1_024 * 1_024,
  transactions: 2 ** 17,
  findings: 2 ** 20,
  names: 2 ** 24,
};

/**
 * Searches a getBlock answer while it arrives, piece by piece, by the rules of `searchBlock`. Transactions keep only
 * what concerns our wallets (see {@link relevantChanges}); otherwise many transactions that name a wallet could fill the
 * memory. Throws NodeFault for an answer that is not a block, incomplete, or larger than a block can be; and as
 * `searchBlock` and `parts` do.
 */
export async function searchParts(
  parts: AsyncIterable<Uint8Array>,
  slot: bigint,
  watched: WatchSet,
  node: BlockSource,
  narrower: Partial<LongBounds> = {},
): Promise<LongBlock> {
  const bounds = { ...BOUNDS, ...narrower };
  const names = new WatchSet(0);
  const findings = new Findings(bounds);
  const search = (bytes: Buffer) => {
    const { header, found: piece } = searchAnswer(bytes, slot, watched, node, names);
    findings.add(piece);
    if (names.size > bounds.names) throw new Unreadable(`it names more than ${bounds.names} addresses`);
    return header;
  };
  try {
    for await (const part of splitBlock(parts, bounds.pieceBytes)) {
      if ('transactions' in part) search(part.transactions);
      else {
        const header = search(part.envelope);
        const size = part.envelope.length + names.byteLength;
        return {
          header,
          ...findings.search(),
          envelope: part.envelope,
          size,
          kept: { kind: 'names', names },
        };
      }
    }
    throw new Unreadable('the block has no envelope');
  } catch (error) {
    if (!(error instanceof Unreadable)) throw error;
    throw new NodeFault(node.name, `getBlock: block ${slot}: ${error.message}`, { method: 'getBlock' });
  }
}

/** The results of all pieces so far, limited to what a block can contain. */
class Findings {
  readonly #bounds: LongBounds;
  readonly #listed = createHash('sha256');
  #size = 0;
  readonly #candidates = new Set<string>();
  readonly #transactions: ScannedTransaction[] = [];
  #changes = 0;

  constructor(bounds: LongBounds) {
    this.#bounds = bounds;
  }

  add({ list, candidates, transactions }: SearchMatches): void {
    this.#listed.update(list);
    for (const byte of list) if (byte === END) this.#size += 1;
    if (this.#size > this.#bounds.transactions)
      throw new Unreadable(`it has more than ${this.#bounds.transactions} transactions`);
    const ours = new Set(candidates);
    for (const address of ours) this.#candidates.add(address);
    for (const transaction of transactions)
      this.#keep(relevantChanges(transaction, (address) => ours.has(address)));
    if (Math.max(this.#changes, this.#candidates.size) > this.#bounds.findings)
      throw new Unreadable(
        `it contains more than ${this.#bounds.findings} wallets of ours, or changes of them`,
      );
  }

  search(): Omit<Search, 'header'> {
    return {
      listed: this.#listed.digest('base64'),
      candidates: [...this.#candidates],
      transactions: this.#transactions,
    };
  }

  #keep(relevant: ScannedTransaction | null): void {
    if (relevant === null) return;
    this.#transactions.push(relevant);
    this.#changes += relevant.accounts.length + relevant.tokens.length;
  }
}

/** Long answers read concurrently, per process and per node: one that never ends must not block the others. */
const [AT_ONCE, OF_A_NODE] = [2, 1];
const PATIENCE_MS = 60_000;

const all = limiterFor(AT_ONCE);
const byNode = new WeakMap<BlockSource, RateLimiter>();

/**
 * Reads a long answer of a node when fewer than the limit are read. Throws errors of `read`. Throws NodeFault after a
 * minute of waiting, or once `over` aborts; that fault does not count against the node.
 */
export async function limitLongReads<T>(
  node: BlockSource,
  read: () => Promise<T>,
  over?: AbortSignal,
): Promise<T> {
  const own = byNode.get(node) ?? limiterFor(OF_A_NODE);
  byNode.set(node, own);
  const pass = (signal: AbortSignal) => own.pass(signal, () => all.pass(signal, read));
  try {
    return await withAbort(pass, AbortSignal.timeout(PATIENCE_MS), over);
  } catch (error) {
    if (!(error instanceof RateLimitTimeout)) throw error;
    const reason = 'getBlock: too many long blocks are read at once';
    throw new NodeFault(node.name, reason, { method: 'getBlock', asked: false, cause: error });
  }
}

function limiterFor(concurrency: number): RateLimiter {
  return new RateLimiter({ concurrency, perSecond: Number.POSITIVE_INFINITY });
}
