import { type Alarm, WHOLE } from '../domain/alerts.ts';
import { DomainError, messageOf } from '../domain/errors.ts';
import { EVERYTHING } from '../domain/settlement.ts';
import type { Gap } from '../ledger/operations/continuity.ts';
import { confirmOneCluster } from '../settlement/record-verdict.ts';
import type { HistoryBounds } from '../solana/history/pages.ts';
import { progressOf } from '../solana/history/wallet-history.ts';
import { unionOf, type WalletListing, WalletLists } from '../solana/history/wallet-signatures.ts';
import { askHeights } from '../solana/proof/heights.ts';
import { highestQuorumValue } from '../solana/rpc/quorum.ts';
import { TtlCache } from '../solana/rpc/ttl-cache.ts';
import { restoredAlarm, unprovedListingAlarm, unreadAlarm } from './hot-wallet-alerts.ts';
import { LISTED_LATE, quarantineEnd } from './restore-quarantine.ts';
import { settleRestoredNonces } from './restored-nonces.ts';
import { isInvented, SpendJudge, type SpendJudgeDeps } from './unknown-spends.ts';

export interface WalletWatchDeps extends SpendJudgeDeps {
  /** The wallet that pays now. Wallets that paid before are watched too. */
  readonly hotWallet: string;
  /** Limits on the history that one check reads from each node. */
  readonly history?: HistoryBounds;
}

/** Milliseconds for which preparations share the result of a finished check. */
const SHARED_MS = 3_000;
const BEFORE_ANY_SLOT = -1n;

/**
 * Compares the database with the transactions that the hot wallets signed, and with its own past. A mismatch
 * stops all preparations, for every worker. The watch repairs nothing.
 * Source: docs/decisions/0010-wallet-history.md.
 */
export class WalletWatch {
  readonly #deps: WalletWatchDeps;
  readonly #looks = new TtlCache<void>(SHARED_MS, 1, 'answered');
  readonly #spends: SpendJudge;
  readonly #lists: WalletLists;
  /** Wallets whose alert `listing_unproved` this process knows to be closed. */
  readonly #proven = new Set<string>();

  constructor(deps: WalletWatchDeps) {
    this.#deps = deps;
    this.#spends = new SpendJudge(deps);
    this.#lists = new WalletLists(deps.history);
  }

  /**
   * Resolves once the history of every wallet was judged by a check that ended at most three seconds ago.
   * @throws NoHealthyNode if no node answers
   * @throws NodeFault if a listed transaction cannot be read
   * @throws Unavailable if the history exceeds one check; the next one continues
   */
  look(): Promise<void> {
    return this.#looks.get('', () => this.#look());
  }

  /**
   * Judges each fee payer's signatures. A mismatch retires that key alone. An unreadable history raises an
   * alert but holds no payment: fee payers own little and never sign a withdrawal.
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
    // The database connection may lead to another database since the pool was opened.
    await ledger.cluster.bind(chain.pool.genesisHash);
    const gap = await ledger.continuity.pulse();
    if (gap === null) await this.#judgeWallets(gap);
    else if (!(await this.#bridges(gap))) return;
    await ledger.alerts.close('record_restored', WHOLE);
  }

  /**
   * Ends the pause after a restore; true once it has ended. As in a proof of death, only nodes count that
   * have finalized a height above the last valid one of every earlier attempt. Their listings contain each
   * payment by a lost row.
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
   * True if no durable nonce prolongs the pause. A lost attempt may have landed with a nonce that was just
   * used up, so the pause is extended until that transaction is listed.
   */
  async #noncesSettled(end: bigint): Promise<boolean> {
    const { ledger, hotWallet } = this.#deps;
    const wallets = await ledger.walletHistory.wallets(hotWallet);
    const found = await settleRestoredNonces(this.#deps, wallets, end);
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

  /** Finalized height up to which a quorum listed the signatures of every wallet; null if one wallet lacks a quorum. */
  async #judgeWallets(gap: Gap | null): Promise<bigint | null> {
    const { ledger, hotWallet } = this.#deps;
    const heights: (bigint | null)[] = [];
    for (const wallet of await ledger.walletHistory.wallets(hotWallet))
      heights.push(await this.#judgeWallet(wallet, gap));
    const listed = heights.flatMap((height) => height ?? []);
    return highestQuorumValue(listed, heights.length);
  }

  async #judgeWallet(wallet: string, gap: Gap | null, scope = EVERYTHING): Promise<bigint | null> {
    const { ledger, chain } = this.#deps;
    const { quorum } = chain.pool;
    const known = await ledger.walletHistory.judgedTo(wallet);
    if (known === null && gap === null) return this.#begin(wallet);
    // A database restored from before the wallet's first check lacks its earlier payments, so all of its
    // history is judged.
    const from = known ?? BEFORE_ANY_SLOT;
    await this.#spends.judgeScanned(wallet, scope);
    const isHarmless = (signature: string) => this.#spends.isHarmless(wallet, signature);
    const listings = await this.#lists.readFromMost(chain.pool, wallet, from, isHarmless);
    const { unproven, next } = await this.#spends.judge(wallet, unionOf(listings), scope);
    const { proved, unproved } = await this.#proved(listings, unproven);
    await this.#reportUnproved(wallet, unproved, unproven);
    if (proved.length < Math.max(1, Math.min(quorum, proved.length + unproved.length)))
      throw unreadable(wallet, unproven);
    const coverage = proved.map(({ coveredTo }) => coveredTo);
    const covered = (highestQuorumValue(coverage, quorum) ?? from) - LISTED_LATE;
    const judgedTo = next !== undefined && next.slot <= covered ? next.slot - 1n : covered;
    if (judgedTo > from) await this.#advance(wallet, judgedTo);
    if (next !== undefined || proved.some(({ finalized }) => finalized === null)) throw notThrough(wallet);
    return heightOf(quorum, proved);
  }

  /**
   * The listings without unproved transactions, and those with one. A listing is dropped, and its node distrusted, if
   * a quorum returns the slot's block without the listed transaction.
   */
  async #proved(listings: readonly WalletListing[], unproven: ReadonlySet<string>) {
    const { pool } = this.#deps.chain;
    const [proved, unproved]: [WalletListing[], WalletListing[]] = [[], []];
    for (const listing of listings) {
      const entry = listing.entries.find(({ signature }) => unproven.has(signature));
      if (entry === undefined) proved.push(listing);
      else if (!(await isInvented(pool, entry))) unproved.push(listing);
      else {
        const reason = `lists ${entry.signature} in slot ${entry.slot}, but a quorum returns that block without it`;
        pool.distrust(listing.node, reason);
      }
    }
    return { proved, unproved };
  }

  /** Keeps the alert about the wallet open while a node lists a transaction that too few nodes confirm. */
  async #reportUnproved(
    wallet: string,
    unproved: readonly WalletListing[],
    unproven: ReadonlySet<string>,
  ): Promise<void> {
    const { alerts } = this.#deps.ledger;
    const nodes = unproved.map(({ node }) => node);
    if (nodes.length > 0) {
      await alerts.raise(unprovedListingAlarm(wallet, nodes, unproven));
      this.#proven.delete(wallet);
    } else if (!this.#proven.has(wallet)) {
      await alerts.close('listing_unproved', wallet);
      this.#proven.add(wallet);
    }
  }

  /** Begins with a wallet that this unrestored database has never paid from: its earlier history is not judged. */
  async #begin(wallet: string): Promise<bigint | null> {
    const { pool } = this.#deps.chain;
    const progress = await progressOf(pool);
    const slots = progress.map(({ slot }) => slot);
    const slot = highestQuorumValue(slots, pool.quorum);
    if (slot !== null) await this.#advance(wallet, slot);
    const heights = progress.map(({ height }) => height);
    return highestQuorumValue(heights, pool.quorum);
  }

  async #advance(wallet: string, slot: bigint): Promise<void> {
    const { ledger, chain } = this.#deps;
    await confirmOneCluster(ledger, chain.pool);
    await ledger.walletHistory.advance(wallet, slot);
  }
}

/** Height that a quorum of the nodes with complete listings had finalized before they listed. */
function heightOf(quorum: number, listings: readonly WalletListing[]): bigint | null {
  const heights = listings.flatMap(({ finalized }) => finalized?.height ?? []);
  return highestQuorumValue(heights, quorum);
}

function unreadable(wallet: string, unproven: ReadonlySet<string>): DomainError {
  const [signature] = unproven;
  const message = `no node returns the transaction ${signature}, which is in the history of ${wallet}`;
  return new DomainError('NodeFault', message);
}

function notThrough(wallet: string): DomainError {
  return new DomainError('Unavailable', `the history of ${wallet} is long: the next check continues it`);
}
