import { DomainError } from '../../domain/errors.ts';
import type { SolanaNode } from '../rpc/node.ts';
import type { NodePool } from '../rpc/pool.ts';
import { answersIn } from '../rpc/quorum.ts';
import {
  endlessListError,
  HISTORY_BOUNDS,
  type HistoryBounds,
  historyPage,
  type WalletSignature,
} from './pages.ts';
import { finalizedProgress, type Progress } from './wallet-history.ts';

export interface WalletListing {
  readonly node: string;
  readonly entries: readonly WalletSignature[];
  /** The node's finalized progress before the list was read; null if the newest entries of a long list are omitted. */
  readonly finalized: Progress | null;
  /** The list is complete up to this slot. */
  readonly coveredTo: bigint;
}

/** A list that is being read from its newest entry to older ones. */
interface ListReading {
  readonly above: bigint;
  readonly finalized: Progress;
  entries: WalletSignature[];
  last: WalletSignature | null;
  isTruncated: boolean;
  /** When the previous call ended, on the clock of `performance.now()`; null while a call runs. */
  pausedAt: number | null;
}

type IsKnown = (signature: string) => boolean;

/** Only the oldest entries of a list are stored. Newer entries are read after these are processed. */
const MAX_STORED_ENTRIES = 50_000;
const MAX_STORED_READINGS = 32;
/** An unfinished list that no call has continued for this long is dropped if another list needs its place. */
const ABANDONED_AFTER_MS = 3_600_000;

/**
 * Reads nodes' lists for wallets above a slot. One call reads some pages, and the next call in this process continues
 * there, so that a very long list blocks no caller. If more than {@link MAX_STORED_READINGS} lists are unfinished, the
 * earliest lists are finished first.
 */
export class WalletLists {
  readonly #bounds: HistoryBounds;
  /** Unfinished lists by node name, then by wallet. The list that has waited longest is first. */
  readonly #readings = new Map<string, Map<string, ListReading>>();

  constructor(bounds: HistoryBounds = HISTORY_BOUNDS) {
    this.#bounds = bounds;
  }

  /**
   * The transactions above `slot` that are not `known`, one list for each node that `NodePool.most` waits for. Makes
   * two requests per node if there is no new transaction. Throws Unavailable while no list is read to its end, and
   * NoHealthyNode if no node answers.
   */
  async ofMost(
    pool: NodePool,
    wallet: string,
    slot: bigint,
    known: IsKnown,
  ): Promise<readonly WalletListing[]> {
    const answers = answersIn(await pool.most((node) => this.ofNode(node, wallet, slot, known)));
    if (answers.length > 0) return answers.map(({ answer }) => answer);
    throw new DomainError('NoHealthyNode', `no RPC node returned the transaction history of ${wallet}`);
  }

  async ofNode(node: SolanaNode, wallet: string, slot: bigint, known: IsKnown): Promise<WalletListing> {
    const reading = this.#resume(node, wallet, slot) ?? (await startReading(node, slot));
    let isUnfinished = false;
    try {
      for (let pages = 0; pages < this.#bounds.pagesPerCall; pages += 1)
        if (await this.#readPage(reading, node, wallet, known))
          return { node: node.name, ...listingOf(reading, slot, known) };
      isUnfinished = true;
    } finally {
      this.#store(node, wallet, reading, isUnfinished);
    }
    throw longHistoryError(node, wallet, reading.last);
  }

  /** Reads the next page. Returns true if it is the last page. */
  async #readPage(reading: ListReading, node: SolanaNode, wallet: string, known: IsKnown): Promise<boolean> {
    const { pageSize } = this.#bounds;
    const page = await historyPage(node, wallet, reading.last, pageSize);
    if (page === null) throw endlessListError(node, wallet);
    const found = page.entries.filter(({ slot, signature }) => slot > reading.above && !known(signature));
    reading.entries.push(...found);
    reading.isTruncated ||= reading.entries.length > MAX_STORED_ENTRIES;
    reading.entries.splice(0, reading.entries.length - MAX_STORED_ENTRIES);
    reading.last = page.entries.at(-1) ?? reading.last;
    return reading.last === null || page.isEnd || reading.last.slot <= reading.above;
  }

  /** The unfinished list of an earlier call, which keeps its place in the order while this call runs. */
  #resume(node: SolanaNode, wallet: string, slot: bigint): ListReading | undefined {
    const reading = this.#readingsOf(node).get(wallet);
    if (reading === undefined || reading.pausedAt === null || reading.above > slot) return undefined;
    reading.pausedAt = null;
    return reading;
  }

  #store(node: SolanaNode, wallet: string, reading: ListReading, isUnfinished: boolean): void {
    const readings = this.#readingsOf(node);
    const other = readings.get(wallet);
    // Another call has stored a list from the same slot or an earlier slot: the stored list stays.
    if (other !== undefined && other !== reading && other.above <= reading.above) return;
    readings.delete(wallet);
    if (!isUnfinished || !this.#hasRoom(readings)) return;
    reading.pausedAt = performance.now();
    readings.set(wallet, reading);
  }

  #hasRoom(readings: Map<string, ListReading>): boolean {
    if (readings.size < MAX_STORED_READINGS) return true;
    for (const [wallet, { pausedAt }] of readings)
      if (pausedAt !== null && performance.now() - pausedAt > ABANDONED_AFTER_MS)
        return readings.delete(wallet);
    return false;
  }

  #readingsOf({ name }: SolanaNode): Map<string, ListReading> {
    const readings = this.#readings.get(name) ?? new Map<string, ListReading>();
    this.#readings.set(name, readings);
    return readings;
  }
}

/** The union of the lists, oldest entry first. An entry that one node lacks is included if another node lists it. */
export function unionOf(listings: readonly Pick<WalletListing, 'entries'>[]): readonly WalletSignature[] {
  const bySignature = new Map(
    listings.flatMap(({ entries }) => entries).map((entry) => [entry.signature, entry]),
  );
  return [...bySignature.values()].toSorted((a, b) => (a.slot < b.slot ? -1 : a.slot > b.slot ? 1 : 0));
}

/** Requests the progress before the list, so that the list contains everything that was finalized by then. */
async function startReading(node: SolanaNode, above: bigint): Promise<ListReading> {
  return {
    above,
    finalized: await finalizedProgress(node),
    entries: [],
    last: null,
    isTruncated: false,
    pausedAt: null,
  };
}

/**
 * Filters again: the list may have been started for a lower slot, and entries may have become known since its start.
 */
function listingOf(
  { entries: read, finalized, isTruncated }: ListReading,
  slot: bigint,
  known: IsKnown,
): Omit<WalletListing, 'node'> {
  const entries = read.filter((entry) => entry.slot > slot && !known(entry.signature));
  const [newest] = read;
  if (isTruncated && newest !== undefined) return { entries, finalized: null, coveredTo: newest.slot - 1n };
  return { entries, finalized, coveredTo: finalized.slot };
}

/** Unavailable instead of NodeFault, because a long list is not the node's fault. */
function longHistoryError({ name }: SolanaNode, wallet: string, last: WalletSignature | null): DomainError {
  const message = `the transaction history of ${wallet} is long: ${name} has returned it down to slot ${last?.slot ?? 'none'}, and the next call continues there`;
  return new DomainError('Unavailable', message, { node: name });
}
