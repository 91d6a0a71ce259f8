import { DomainError, isDomainError } from '../../domain/errors.ts';
import type { SolanaNode } from '../rpc/node.ts';
import type { NodePool } from '../rpc/pool.ts';
import { endless, HISTORY_BOUNDS, type HistoryBounds, historyPage, type WalletSignature } from './pages.ts';
import { finalizedProgress, type Progress } from './wallet-history.ts';

/** What one node lists of a wallet. */
export interface WalletListing {
  readonly node: string;
  readonly entries: readonly WalletSignature[];
  /** Finalized before the list was read; null where the list is so long that its newest entries are left out. */
  readonly finalized: Progress | null;
  /** The slot up to which nothing is left out. */
  readonly coveredTo: bigint;
}

/** A list that is read from the newest entry down, and not yet to its end. */
interface Reading {
  readonly above: bigint;
  readonly finalized: Progress;
  found: WalletSignature[];
  last: WalletSignature | null;
  leftOut: boolean;
  /** When the look before ended, on the clock of `performance.now()`; null while one goes on. */
  leftAt: number | null;
}

type IsKnown = (signature: string) => boolean;

/** So many of a list are kept, the oldest; the others come when those are judged. */
const KEPT = 50_000;
/** Of each node. */
const READINGS_KEPT = 32;
/** The work of one that nobody has gone on with for so long is given up, where another one needs its place. */
const FORSAKEN_MS = 3_600_000;

/**
 * What nodes list of wallets above a slot, however much that is: one look reads some pages, and the next look of the same process goes on
 * where it ended. So a node that lists without an end holds nobody up. Where more are read at once than are kept, those that were begun
 * first are read to their ends first.
 */
export class WalletLists {
  readonly #bounds: HistoryBounds;
  /** By the node's name, then by wallet, the one that was left the longest ago first. */
  readonly #readings = new Map<string, Map<string, Reading>>();

  constructor(bounds: HistoryBounds = HISTORY_BOUNDS) {
    this.#bounds = bounds;
  }

  /**
   * What each node that answers when a quorum does lists as finalized above `slot`, without the signatures that are `known` already. Two
   * calls to each node where nothing is new. Throws Unavailable where the lists are not read to their ends yet, NoHealthyNode where no node
   * answers.
   */
  async ofMost(
    pool: NodePool,
    wallet: string,
    slot: bigint,
    known: IsKnown,
  ): Promise<readonly WalletListing[]> {
    const answers = (await pool.most((node) => this.ofNode(node, wallet, slot, known))).map(
      ({ result }) => result,
    );
    const heard = answers.flatMap((answer) => (answer.status === 'fulfilled' ? [answer.value] : []));
    if (heard.length > 0) return heard;
    const reasons = answers.flatMap((answer) => (answer.status === 'rejected' ? [answer.reason] : []));
    throw (
      reasons.find((reason) => isDomainError(reason, 'Unavailable')) ??
      new DomainError('NoHealthyNode', 'no node shows the history of the wallet', {}, reasons[0])
    );
  }

  /** What one node lists; see {@link ofMost}. */
  async ofNode(node: SolanaNode, wallet: string, slot: bigint, known: IsKnown): Promise<WalletListing> {
    const reading = this.#goOn(node, wallet, slot) ?? (await begin(node, slot));
    let isKept = false;
    try {
      for (let pages = 0; pages < this.#bounds.pagesALook; pages += 1)
        if (await this.#isReadOn(reading, node, wallet, known))
          return { node: node.name, ...listingOf(reading, slot, known) };
      isKept = true;
    } finally {
      this.#leave(node, wallet, reading, isKept);
    }
    throw unread(node, wallet, reading.last);
  }

  /** Reads the next page; true where it is the last one. */
  async #isReadOn(reading: Reading, node: SolanaNode, wallet: string, known: IsKnown): Promise<boolean> {
    const { pageSize } = this.#bounds;
    const page = await historyPage(node, wallet, reading.last, pageSize);
    if (page === null) throw endless(node, wallet);
    const found = page.entries.filter(({ slot, signature }) => slot > reading.above && !known(signature));
    reading.found.push(...found);
    reading.leftOut ||= reading.found.length > KEPT;
    reading.found.splice(0, reading.found.length - KEPT);
    reading.last = page.entries.at(-1) ?? reading.last;
    return reading.last === null || page.isEnd || reading.last.slot <= reading.above;
  }

  /** The one that a look before has left. It keeps its place meanwhile: else those that come in between would have it, turn by turn. */
  #goOn(node: SolanaNode, wallet: string, slot: bigint): Reading | undefined {
    const begun = this.#of(node).get(wallet);
    if (begun === undefined || begun.leftAt === null || begun.above > slot) return undefined;
    begun.leftAt = null;
    return begun;
  }

  /** For the next look, where it has a place or finds one. */
  #leave(node: SolanaNode, wallet: string, reading: Reading, isKept: boolean): void {
    const readings = this.#of(node);
    const other = readings.get(wallet);
    // Another look began one meanwhile, from no later a slot: that one is kept.
    if (other !== undefined && other !== reading && other.above <= reading.above) return;
    readings.delete(wallet);
    if (!isKept || !this.#hasPlace(readings)) return;
    reading.leftAt = performance.now();
    readings.set(wallet, reading);
  }

  #hasPlace(readings: Map<string, Reading>): boolean {
    if (readings.size < READINGS_KEPT) return true;
    for (const [wallet, { leftAt }] of readings)
      if (leftAt !== null && performance.now() - leftAt > FORSAKEN_MS) return readings.delete(wallet);
    return false;
  }

  #of({ name }: SolanaNode): Map<string, Reading> {
    const known = this.#readings.get(name) ?? new Map<string, Reading>();
    this.#readings.set(name, known);
    return known;
  }
}

/** Everything listed, the oldest first: one that lags or has lost some of it hides nothing that another one knows. */
export function unionOf(listings: readonly Pick<WalletListing, 'entries'>[]): readonly WalletSignature[] {
  const bySignature = new Map(
    listings.flatMap(({ entries }) => entries).map((entry) => [entry.signature, entry]),
  );
  return [...bySignature.values()].toSorted((a, b) => (a.slot < b.slot ? -1 : a.slot > b.slot ? 1 : 0));
}

/** Asked first: what is final by then must be in the list. */
async function begin(node: SolanaNode, above: bigint): Promise<Reading> {
  return {
    above,
    finalized: await finalizedProgress(node),
    found: [],
    last: null,
    leftOut: false,
    leftAt: null,
  };
}

/** What a reading that may have begun before some of it was known tells above `slot`. */
function listingOf(
  { found, finalized, leftOut }: Reading,
  slot: bigint,
  known: IsKnown,
): Omit<WalletListing, 'node'> {
  const entries = found.filter((entry) => entry.slot > slot && !known(entry.signature));
  const [newest] = found;
  if (leftOut && newest !== undefined) return { entries, finalized: null, coveredTo: newest.slot - 1n };
  return { entries, finalized, coveredTo: finalized.slot };
}

/** No fault of the node: its list is long. */
function unread({ name }: SolanaNode, wallet: string, last: WalletSignature | null): DomainError {
  const message = `the history of ${wallet} is long: read at ${name} down to slot ${last?.slot ?? '?'}, and the next look goes on`;
  return new DomainError('Unavailable', message, { node: name });
}
