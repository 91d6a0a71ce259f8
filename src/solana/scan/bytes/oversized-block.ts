import { createHash } from 'node:crypto';
import type { ScannedTransaction } from '../../../domain/deposit.ts';
import { NodeFault } from '../../rpc/errors.ts';
import type { StreamedAnswer } from '../../rpc/node.ts';
import { RateLimiter, RateLimitTimeout } from '../../rpc/rate-limiter.ts';
import { withAbort } from '../../rpc/with-abort.ts';
import { LINE_FEED } from '../listing.ts';
import { relevantChanges } from '../relevant-changes.ts';
import { type BlockSource, type Search, type SearchMatches, searchAnswer } from '../search.ts';
import { Unreadable } from './json-bytes.ts';
import { splitBlock } from './splitter.ts';
import { WatchSet } from './watch-set.ts';

export interface OversizedBlock extends Search, StreamedAnswer {
  readonly kept: { readonly kind: 'names'; readonly names: WatchSet };
  /** Approximate bytes kept of it, without the search result. */
  readonly size: number;
}

export interface BlockLimits {
  readonly pieceBytes: number;
  /** A block has at most 100 million compute units (SIMD-0286); signature and write lock cost a transaction 1,020. */
  readonly maxTransactions: number;
  /**
   * Accounts and token balances of ours that change or sign, and wallets of ours that are named. A changed account
   * costs 300 compute units; an account named for the first time costs an entry in a lookup table.
   */
  readonly maxFindings: number;
  /** Different addresses. A block full of lookup tables names at most 2.5 million. */
  readonly maxAddresses: number;
}

const BLOCK_LIMITS: BlockLimits = {
  pieceBytes: 4 * 1_024 * 1_024,
  maxTransactions: 2 ** 17,
  maxFindings: 2 ** 20,
  maxAddresses: 2 ** 24,
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
  overrides: Partial<BlockLimits> = {},
): Promise<OversizedBlock> {
  const limits = { ...BLOCK_LIMITS, ...overrides };
  const names = new WatchSet(0);
  const findings = new Findings(limits);
  const search = (bytes: Buffer) => {
    const { header, found: piece } = searchAnswer(bytes, slot, watched, node, names);
    findings.add(piece);
    if (names.size > limits.maxAddresses)
      throw new Unreadable(`it names more than ${limits.maxAddresses} addresses`);
    return header;
  };
  try {
    for await (const part of splitBlock(parts, limits.pieceBytes)) {
      if ('transactions' in part) search(part.transactions);
      else {
        const header = search(part.envelope);
        const size = part.envelope.length + names.byteLength;
        return {
          header,
          ...findings.result(),
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
  readonly #limits: BlockLimits;
  readonly #signaturesHash = createHash('sha256');
  #transactionCount = 0;
  readonly #candidates = new Set<string>();
  readonly #transactions: ScannedTransaction[] = [];
  #findingCount = 0;

  constructor(limits: BlockLimits) {
    this.#limits = limits;
  }

  add({ signatureList: list, candidates, transactions }: SearchMatches): void {
    this.#signaturesHash.update(list);
    for (const byte of list) if (byte === LINE_FEED) this.#transactionCount += 1;
    if (this.#transactionCount > this.#limits.maxTransactions)
      throw new Unreadable(`it has more than ${this.#limits.maxTransactions} transactions`);
    const ours = new Set(candidates);
    for (const address of ours) this.#candidates.add(address);
    for (const transaction of transactions)
      this.#addTransaction(relevantChanges(transaction, (address) => ours.has(address)));
    if (Math.max(this.#findingCount, this.#candidates.size) > this.#limits.maxFindings)
      throw new Unreadable(
        `it contains more than ${this.#limits.maxFindings} wallets of ours, or changes of them`,
      );
  }

  result(): Omit<Search, 'header'> {
    return {
      signaturesHash: this.#signaturesHash.digest('base64'),
      candidates: [...this.#candidates],
      transactions: this.#transactions,
    };
  }

  #addTransaction(relevant: ScannedTransaction | null): void {
    if (relevant === null) return;
    this.#transactions.push(relevant);
    this.#findingCount += relevant.accounts.length + relevant.tokens.length;
  }
}

/** Long answers read concurrently, per process and per node: one that never ends must not block the others. */
const [MAX_CONCURRENT_READS, MAX_READS_PER_NODE] = [2, 1];
const MAX_WAIT_MS = 60_000;

const processLimiter = limiterFor(MAX_CONCURRENT_READS);
const nodeLimiters = new WeakMap<BlockSource, RateLimiter>();

/**
 * Reads a long answer of a node when fewer than the limit are read. Throws errors of `read`. Throws NodeFault after a
 * minute of waiting, or once `over` aborts; that fault does not count against the node.
 */
export async function limitLongReads<T>(
  node: BlockSource,
  read: () => Promise<T>,
  signal?: AbortSignal,
): Promise<T> {
  const nodeLimiter = nodeLimiters.get(node) ?? limiterFor(MAX_READS_PER_NODE);
  nodeLimiters.set(node, nodeLimiter);
  const pass = (signal: AbortSignal) => nodeLimiter.pass(signal, () => processLimiter.pass(signal, read));
  try {
    return await withAbort(pass, AbortSignal.timeout(MAX_WAIT_MS), signal);
  } catch (error) {
    if (!(error instanceof RateLimitTimeout)) throw error;
    const reason = 'getBlock: too many long blocks are read at once';
    throw new NodeFault(node.name, reason, { method: 'getBlock', asked: false, cause: error });
  }
}

function limiterFor(concurrency: number): RateLimiter {
  return new RateLimiter({ concurrency, perSecond: Number.POSITIVE_INFINITY });
}
