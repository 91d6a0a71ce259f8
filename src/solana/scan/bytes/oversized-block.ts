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
  readonly retained: { readonly kind: 'names'; readonly names: WatchSet };
  /** Approximate bytes that are retained, without the search result. */
  readonly size: number;
}

export interface BlockLimits {
  readonly pieceBytes: number;
  /**
   * A block has at most 100 million compute units (SIMD-0286), and a transaction costs at least 1,020: one signature
   * and one write lock.
   */
  readonly maxTransactions: number;
  /**
   * Separate limits of the same size: relevant accounts and token balances (see {@link relevantChanges}), and watched
   * wallets that the block names. A changed account costs 300 compute units.
   */
  readonly maxFindings: number;
  /** Distinct addresses. With lookup tables, a block can name at most 2.5 million. */
  readonly maxAddresses: number;
}

const BLOCK_LIMITS: BlockLimits = {
  pieceBytes: 4 * 1_024 * 1_024,
  maxTransactions: 2 ** 17,
  maxFindings: 2 ** 20,
  maxAddresses: 2 ** 22,
};

/**
 * Searches a getBlock answer while it is received, piece by piece, with the result of `searchBlock`. Transactions are
 * reduced to their {@link relevantChanges}, so that many transactions with watched wallets cannot exhaust the memory.
 * Throws NodeFault for an answer that is not a block, is incomplete, or exceeds a limit of a block; otherwise as
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
  const addresses = new WatchSet(0);
  const findings = new Findings(limits);
  const search = (bytes: Buffer) => {
    const { header, matches } = searchAnswer(bytes, { slot, watched, node }, addresses);
    findings.add(matches);
    if (addresses.size > limits.maxAddresses)
      throw new Unreadable(`the block names more than ${limits.maxAddresses} addresses`);
    return header;
  };
  try {
    for await (const part of splitBlock(parts, limits.pieceBytes)) {
      if ('transactions' in part) search(part.transactions);
      else {
        const header = search(part.envelope);
        const size = part.envelope.length + addresses.byteLength;
        return {
          header,
          ...findings.result(),
          envelope: part.envelope,
          size,
          retained: { kind: 'names', names: addresses },
        };
      }
    }
    throw new Unreadable('the answer ends before the end of the block');
  } catch (error) {
    if (!(error instanceof Unreadable)) throw error;
    throw new NodeFault(node.name, `getBlock: block ${slot}: ${error.message}`, { method: 'getBlock' });
  }
}

/** Collects the results of the pieces. Throws Unreadable if they exceed a limit of a block. */
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
      throw new Unreadable(`the block has more than ${this.#limits.maxTransactions} transactions`);
    const ours = new Set(candidates);
    for (const address of ours) this.#candidates.add(address);
    for (const transaction of transactions)
      this.#addTransaction(relevantChanges(transaction, (address) => ours.has(address)));
    if (Math.max(this.#findingCount, this.#candidates.size) > this.#limits.maxFindings)
      throw new Unreadable(
        `the block names more than ${this.#limits.maxFindings} watched wallets, or changes more than that many of their balances`,
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

/** Long answers that are read concurrently, per process and per node: an endless answer must not block other nodes. */
const [MAX_CONCURRENT_READS, MAX_READS_PER_NODE] = [2, 1];
const MAX_WAIT_MS = 60_000;

const processLimiter = limiterFor(MAX_CONCURRENT_READS);
const nodeLimiters = new WeakMap<BlockSource, RateLimiter>();

/**
 * Runs `read` as soon as fewer long answers than the limits are being read, and throws its errors. Throws NodeFault if
 * `read` has not begun after one minute, or when `signal` is aborted; this fault does not count against the node.
 */
export async function limitLongReads<T>(
  node: BlockSource,
  read: () => Promise<T>,
  signal?: AbortSignal,
): Promise<T> {
  const nodeLimiter = nodeLimiters.get(node) ?? limiterFor(MAX_READS_PER_NODE);
  nodeLimiters.set(node, nodeLimiter);
  const pass = (abort: AbortSignal) => nodeLimiter.pass(abort, () => processLimiter.pass(abort, read));
  try {
    return await withAbort(pass, AbortSignal.timeout(MAX_WAIT_MS), signal);
  } catch (error) {
    if (!(error instanceof RateLimitTimeout)) throw error;
    const reason =
      'getBlock: the answer was not read, because too many long answers are being read at the same time';
    throw new NodeFault(node.name, reason, { method: 'getBlock', asked: false, cause: error });
  }
}

function limiterFor(concurrency: number): RateLimiter {
  return new RateLimiter({ concurrency, perSecond: Number.POSITIVE_INFINITY });
}
