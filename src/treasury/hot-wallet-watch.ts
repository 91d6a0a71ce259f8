import { type Alarm, WHOLE } from '../domain/alerts.ts';
import { DomainError, messageOf } from '../domain/errors.ts';
import { EVERYTHING, type PauseScope } from '../domain/pause-scope.ts';
import type { Gap } from '../ledger/operations/continuity.ts';
import { confirmOneCluster } from '../settlement/one-cluster.ts';
import type { HistoryBounds } from '../solana/history/pages.ts';
import { progressOf, reachedBy } from '../solana/history/wallet-history.ts';
import { unionOf, type WalletListing, WalletLists } from '../solana/history/wallet-signatures.ts';
import { askHeights } from '../solana/proof/heights.ts';
import { TtlCache } from '../solana/rpc/ttl-cache.ts';
import { restoredAlarm, unprovedListingAlarm, unreadAlarm } from './hot-wallet-alerts.ts';
import { settleUnproved } from './missing-spends.ts';
import { LISTED_LATE, quarantineEnd } from './restore-quarantine.ts';
import { LostNonces } from './restored-nonces.ts';
import { READ_AT_MOST, SpendJudge, type SpendJudgeDeps } from './unknown-spends.ts';
import { doubtfulOf, withoutFalse } from './unproved-listings.ts';

export interface WalletWatchDeps extends SpendJudgeDeps {
  /** The one that pays now; those that have paid before are watched, too. */
  readonly hotWallet: string;
  /** How much of a list one look reads at each node. */
  readonly history?: HistoryBounds;
}

/** One look serves every preparation that begins while it goes on, or within so long of its end. */
const SHARED_MS = 3_000;
const BEFORE_ANY_SLOT = -1n;

/**
 * Holds the record against what the hot wallets really signed, and against its own past. What it finds wrong stops all preparations
 * in Postgres, for every worker; it repairs nothing.
 * Source: docs/decisions/0010-wallet-history.md.
 */
export class WalletWatch {
  readonly #deps: WalletWatchDeps;
  readonly #looks = new TtlCache<void>(SHARED_MS, 1, 'answered');
  readonly #spends: SpendJudge;
  readonly #lists: WalletLists;
  readonly #lostNonces: LostNonces;
  /** The wallets without an open alert of this process about their listings. */
  readonly #undoubted = new Set<string>();

  constructor(deps: WalletWatchDeps) {
    this.#deps = deps;
    this.#spends = new SpendJudge(deps);
    this.#lists = new WalletLists(deps.history);
    this.#lostNonces = new LostNonces(deps);
  }

  /**
   * Resolves when the history of every wallet was judged in a look that ended at most three seconds ago. Throws NoHealthyNode where no
   * node tells, NodeFault where what is listed cannot be read, Unavailable where there is more than one look reads: the next goes on.
   */
  look(): Promise<void> {
    return this.#looks.get('', () => this.#look());
  }

  /**
   * Judges what each wallet signed that only pays fees. What it finds wrong retires that key alone, and a history that cannot be read
   * holds up no payment, but raises an alert: these wallets are busy, hold little, and sign nothing that pays a withdrawal.
   */
  async lookAtFeePayers(): Promise<void> {
    const { ledger } = this.#deps;
    const unread: Alarm[] = [];
    for (const wallet of await ledger.walletHistory.feePayers()) {
      await this.#judgeWallet(wallet, null, `wallet/${wallet}`).catch((error: unknown) =>
        unread.push(unreadAlarm(wallet, messageOf(error))),
      );
    }
    await ledger.alerts.keepOnly(['fee_payer_unread'], unread);
  }

  async #look(): Promise<void> {
    const { ledger, chain } = this.#deps;
    // The database, too, may have become another one since the pool was opened.
    await ledger.cluster.bind(chain.pool.genesisHash);
    const gap = await ledger.continuity.pulse();
    if (gap === null) await this.#judgeWallets(gap);
    else if (!(await this.#bridges(gap))) return;
    await ledger.alerts.close('record_restored', WHOLE);
  }

  /**
   * Ends a gap in the record as an attempt is proved dead: nodes that have finalized what every attempt of before can live to are asked
   * what the wallets signed. Whatever a lost row paid is known from then on. True where it has ended.
   */
  async #bridges(gap: Gap): Promise<boolean> {
    const { ledger } = this.#deps;
    this.#spends.forget();
    await ledger.alerts.raise(restoredAlarm(gap, await ledger.lostNonces.list()));
    const stored = gap.quarantineHeight;
    const end = await this.#quarantineEnd(stored);
    if (end !== null && end !== stored) await ledger.continuity.quarantine(end, stored);
    const judgedTo = await this.#judgeWallets(gap);
    if (end === null || end !== stored || judgedTo === null || judgedTo <= end) return false;
    if (!gap.noncesSettled && !(await this.#noncesSettled(end))) return false;
    await ledger.continuity.heal(end);
    return true;
  }

  /**
   * True where no durable nonce keeps the gap open. Where one did and is used up now, a lost attempt may just have landed with it: the
   * gap goes on until that, too, is listed.
   */
  async #noncesSettled(end: bigint): Promise<boolean> {
    const { ledger, hotWallet } = this.#deps;
    const found = await this.#lostNonces.settle(await ledger.walletHistory.wallets(hotWallet), end);
    if (found !== 'gone') return found === 'none';
    const later = await this.#quarantineEnd(null);
    if (later !== null) await ledger.continuity.quarantine(later, end, true);
    return false;
  }

  async #quarantineEnd(stored: bigint | null): Promise<bigint | null> {
    const { pool } = this.#deps.chain;
    const confirmed = (await askHeights(pool, 'confirmed')).map(({ answer }) => answer);
    return quarantineEnd(confirmed, pool.quorum, stored);
  }

  /** The finalized height up to which a quorum has listed what each wallet signed; null where no quorum has. */
  async #judgeWallets(gap: Gap | null): Promise<bigint | null> {
    const { ledger, hotWallet } = this.#deps;
    const heights: (bigint | null)[] = [];
    for (const wallet of await ledger.walletHistory.wallets(hotWallet))
      heights.push(await this.#judgeWallet(wallet, gap));
    return heights.reduce((low, height) => (low === null || height === null || low < height ? low : height));
  }

  async #judgeWallet(wallet: string, gap: Gap | null, scope = EVERYTHING): Promise<bigint | null> {
    const { ledger, chain } = this.#deps;
    const { quorum } = chain.pool;
    const known = await ledger.walletHistory.judgedTo(wallet);
    if (known === null && gap === null) return this.#begin(wallet);
    // A record that was restored from before its first look has forgotten what it paid from this wallet.
    const from = known ?? BEFORE_ANY_SLOT;
    await this.#judgeScanned(wallet, scope);
    const isHarmless = (signature: string) => this.#spends.isHarmless(wallet, signature);
    const heard = await this.#lists.ofMost(chain.pool, wallet, from, isHarmless);
    const { unproven, next } = await this.#spends.judge(wallet, unionOf(heard), scope);
    const listings = await withoutFalse(chain.pool, heard, unproven);
    const doubtful = doubtfulOf(listings, unproven);
    await this.#tellOfDoubtful(wallet, doubtful, unproven);
    const believed = listings.filter((listing) => !doubtful.includes(listing));
    if (believed.length < Math.max(1, Math.min(quorum, listings.length))) throw unreadable(wallet, unproven);
    const listedTo = reachedBy(
      quorum,
      believed.map(({ coveredTo }) => coveredTo),
    );
    const covered = (listedTo ?? from) - LISTED_LATE;
    const judgedTo = next !== undefined && next.slot <= covered ? next.slot - 1n : covered;
    if (judgedTo > from) await this.#advance(wallet, judgedTo);
    if (next !== undefined || believed.some(({ finalized }) => finalized === null)) throw notThrough(wallet);
    return heightOf(quorum, believed);
  }

  /** Keeps the alert about the wallet open for as long as a node lists what too few nodes prove. */
  async #tellOfDoubtful(
    wallet: string,
    doubtful: readonly WalletListing[],
    unproven: ReadonlySet<string>,
  ): Promise<void> {
    const { alerts } = this.#deps.ledger;
    const nodes = doubtful.map(({ node }) => node);
    if (nodes.length > 0) {
      await alerts.raise(unprovedListingAlarm(wallet, nodes, unproven));
      this.#undoubted.delete(wallet);
    } else if (!this.#undoubted.has(wallet)) {
      await alerts.close('listing_unproved', wallet);
      this.#undoubted.add(wallet);
    }
  }

  /**
   * Judges what the scan saw the wallet sign, which is found there also where no list names it. What no node proves is asked for again
   * in each look, until the wait for a proof ends: it may be what one node made up, and the lists of all are judged beside it.
   */
  async #judgeScanned(wallet: string, scope: PauseScope): Promise<void> {
    const { ledger, chain, readAtMost = READ_AT_MOST } = this.#deps;
    const spends = await ledger.spends.unjudged(wallet, readAtMost);
    if (spends.length === 0) return;
    const { unproven } = await this.#spends.judge(wallet, spends, scope);
    const judged = spends.flatMap(({ signature }) => (unproven.has(signature) ? [] : [signature]));
    const left = spends.filter(({ signature }) => unproven.has(signature));
    const settled = await settleUnproved({ ledger, pool: chain.pool }, wallet, left, scope);
    await ledger.spends.markJudged(wallet, [...judged, ...settled]);
  }

  /** A wallet that this record, which has lost nothing, has never paid from: what it did before is not ours to judge. */
  async #begin(wallet: string): Promise<bigint | null> {
    const { chain } = this.#deps;
    const progress = await progressOf(chain.pool);
    const { quorum } = chain.pool;
    const slot = reachedBy(
      quorum,
      progress.map((one) => one.slot),
    );
    if (slot !== null) await this.#advance(wallet, slot);
    return reachedBy(
      quorum,
      progress.map((one) => one.height),
    );
  }

  async #advance(wallet: string, slot: bigint): Promise<void> {
    const { ledger, chain } = this.#deps;
    await confirmOneCluster(ledger, chain.pool);
    await ledger.walletHistory.advance(wallet, slot);
  }
}

/** The height that a quorum of those whose lists are whole had finalized before they listed. */
function heightOf(quorum: number, listings: readonly WalletListing[]): bigint | null {
  return reachedBy(
    quorum,
    listings.flatMap(({ finalized }) => finalized?.height ?? []),
  );
}

function unreadable(wallet: string, unproven: ReadonlySet<string>): DomainError {
  const [signature] = unproven;
  const message = `no node shows the transaction ${signature} that the history of ${wallet} lists`;
  return new DomainError('NodeFault', message);
}

function notThrough(wallet: string): DomainError {
  return new DomainError('Unavailable', `the history of ${wallet} is long, and not read to its end yet`);
}
