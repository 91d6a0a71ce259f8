import { type Alarm, WHOLE_SYSTEM } from '../domain/alerts.ts';
import { DomainError, messageOf } from '../domain/errors.ts';
import { ALL_SETTLEMENTS } from '../domain/settlement.ts';
import type { RestoreGap } from '../ledger/operations/continuity.ts';
import { confirmOneCluster } from '../settlement/record-verdict.ts';
import type { HistoryBounds } from '../solana/history/pages.ts';
import { progressOf } from '../solana/history/wallet-history.ts';
import { unionOf, type WalletListing, WalletLists } from '../solana/history/wallet-signatures.ts';
import { askHeights } from '../solana/proof/heights.ts';
import { highestQuorumValue } from '../solana/rpc/quorum.ts';
import { TtlCache } from '../solana/rpc/ttl-cache.ts';
import { restoredAlarm, unprovedListingAlarm, unreadAlarm } from './hot-wallet-alerts.ts';
import { MAX_LISTING_LAG, quarantineEnd } from './restore-quarantine.ts';
import { settleRestoredNonces } from './restored-nonces.ts';
import { isInvented, SpendJudge, type SpendJudgeDeps } from './unknown-spends.ts';

export interface WalletWatchDeps extends SpendJudgeDeps {
  /** The wallet that pays now. Wallets that paid before are watched too. */
  readonly hotWallet: string;
  /** Limits on the history that one check reads from each node. */
  readonly history?: HistoryBounds;
}

/** Preparations share the result of a check for this long after its end. */
const CHECK_TTL_MS = 3_000;
const BEFORE_ANY_SLOT = -1n;

/**
 * Compares the database with the transactions that the hot wallets signed, and detects a restored database. A
 * mismatch stops the preparation of attempts in every worker. The watch repairs nothing.
 * Source: docs/decisions/0010-wallet-history.md.
 */
export class WalletWatch {
  readonly #deps: WalletWatchDeps;
  readonly #checks = new TtlCache<void>(CHECK_TTL_MS, 1, 'answered');
  readonly #spends: SpendJudge;
  readonly #lists: WalletLists;
  /** Wallets whose alert `listing_unproved` this process knows to be closed. */
  readonly #walletsWithoutAlert = new Set<string>();

  constructor(deps: WalletWatchDeps) {
    this.#deps = deps;
    this.#spends = new SpendJudge(deps);
    this.#lists = new WalletLists(deps.history);
  }

  /**
   * Resolves when a check has judged the history of every wallet. A check that ended at most three seconds ago is
   * enough.
   * @throws NoHealthyNode if no node answers
   * @throws NodeFault if too few nodes confirm a listed transaction
   * @throws Unavailable if the history exceeds one check; the next one continues
   */
  check(): Promise<void> {
    return this.#checks.get('', () => this.#check());
  }

  /**
   * Judges the signatures of each fee payer. A mismatch pauses that key alone. A history that cannot be read raises
   * an alert but stops no payment: fee payers own little and never sign a withdrawal.
   */
  async judgeFeePayers(): Promise<void> {
    const { ledger } = this.#deps;
    const unread: Alarm[] = [];
    for (const wallet of await ledger.walletHistory.feePayers()) {
      await this.#judgeWallet(wallet, null, `wallet/${wallet}`).catch((error: unknown) =>
        unread.push(unreadAlarm(wallet, messageOf(error))),
      );
    }
    await ledger.alerts.syncOpen(['fee_payer_unread'], unread);
  }

  async #check(): Promise<void> {
    const { ledger, chain } = this.#deps;
    // The connection can lead to a different database than when the pool was opened.
    await ledger.cluster.bind(chain.pool.genesisHash);
    const gap = await ledger.continuity.pulse();
    if (gap === null) await this.#judgeWallets(gap);
    else if (!(await this.#endPause(gap))) return;
    await ledger.alerts.close('database_restored', WHOLE_SYSTEM);
  }

  /**
   * Ends the pause after a restore if it can, and returns whether it has ended. As in a proof that an attempt is
   * dead, only nodes count that have finalized a height above the last valid one of every earlier attempt: their
   * listings contain each payment whose row was lost.
   */
  async #endPause(gap: RestoreGap): Promise<boolean> {
    const { ledger } = this.#deps;
    this.#spends.forget();
    await ledger.alerts.raise(restoredAlarm(gap, await ledger.lostNonces.list()));
    const stored = gap.quarantineHeight;
    const end = await this.#quarantineEnd(stored);
    if (end !== null && end !== stored) await ledger.continuity.quarantine(end, stored);
    const judgedTo = await this.#judgeWallets(gap);
    if (end === null || end !== stored || judgedTo === null || judgedTo <= end) return false;
    if (!gap.noncesSettled && !(await this.#areNoncesSettled(end))) return false;
    await ledger.continuity.endGap(end);
    return true;
  }

  /**
   * True if no durable nonce prolongs the pause. A lost attempt can have used up its nonce and landed just now, so
   * the pause is first extended until that transaction is listed.
   */
  async #areNoncesSettled(end: bigint): Promise<boolean> {
    const { ledger, hotWallet } = this.#deps;
    const wallets = await ledger.walletHistory.wallets(hotWallet);
    const outcome = await settleRestoredNonces(this.#deps, wallets, end);
    if (outcome !== 'gone') return outcome === 'none';
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
  async #judgeWallets(gap: RestoreGap | null): Promise<bigint | null> {
    const { ledger, hotWallet } = this.#deps;
    const heights: (bigint | null)[] = [];
    for (const wallet of await ledger.walletHistory.wallets(hotWallet))
      heights.push(await this.#judgeWallet(wallet, gap));
    const listed = heights.flatMap((height) => height ?? []);
    return highestQuorumValue(listed, heights.length);
  }

  async #judgeWallet(
    wallet: string,
    gap: RestoreGap | null,
    scope = ALL_SETTLEMENTS,
  ): Promise<bigint | null> {
    const { ledger, chain } = this.#deps;
    const { quorum } = chain.pool;
    const judgedBefore = await ledger.walletHistory.judgedTo(wallet);
    if (judgedBefore === null && gap === null) return this.#begin(wallet);
    // If the database was restored from before the wallet's first check, the wallet's earlier payments are missing,
    // so its whole history is judged.
    const from = judgedBefore ?? BEFORE_ANY_SLOT;
    await this.#spends.judgeScanned(wallet, scope);
    const isHarmless = (signature: string) => this.#spends.isHarmless(wallet, signature);
    const listings = await this.#lists.readFromMost(chain.pool, wallet, from, isHarmless);
    const { unprovenSignatures, next } = await this.#spends.judge(wallet, unionOf(listings), scope);
    const { provedListings, unprovedListings } = await this.#splitListings(listings, unprovenSignatures);
    await this.#reportUnproved(wallet, unprovedListings, unprovenSignatures);
    if (
      provedListings.length < Math.max(1, Math.min(quorum, provedListings.length + unprovedListings.length))
    )
      throw unprovenTransaction(wallet, unprovenSignatures);
    const coverage = provedListings.map(({ coveredTo }) => coveredTo);
    const covered = (highestQuorumValue(coverage, quorum) ?? from) - MAX_LISTING_LAG;
    const judgedTo = next !== undefined && next.slot <= covered ? next.slot - 1n : covered;
    if (judgedTo > from) await this.#advance(wallet, judgedTo);
    if (next !== undefined || provedListings.some(({ finalized }) => finalized === null))
      throw historyContinues(wallet);
    return heightOf(quorum, provedListings);
  }

  /**
   * Splits the listings into those without unproven transactions and the others. A listing is dropped, and its node
   * distrusted, if a quorum returns the block of a listed slot without the listed transaction.
   */
  async #splitListings(listings: readonly WalletListing[], unprovenSignatures: ReadonlySet<string>) {
    const { pool } = this.#deps.chain;
    const [provedListings, unprovedListings]: [WalletListing[], WalletListing[]] = [[], []];
    for (const listing of listings) {
      const entry = listing.entries.find(({ signature }) => unprovenSignatures.has(signature));
      if (entry === undefined) provedListings.push(listing);
      else if (!(await isInvented(pool, entry))) unprovedListings.push(listing);
      else {
        const reason = `lists ${entry.signature} in slot ${entry.slot}, but a quorum returns that block without it`;
        pool.distrust(listing.node, reason);
      }
    }
    return { provedListings, unprovedListings };
  }

  /** Keeps the alert about the wallet open while a node lists a transaction that too few nodes confirm. */
  async #reportUnproved(
    wallet: string,
    unprovedListings: readonly WalletListing[],
    unprovenSignatures: ReadonlySet<string>,
  ): Promise<void> {
    const { alerts } = this.#deps.ledger;
    const nodes = unprovedListings.map(({ node }) => node);
    if (nodes.length > 0) {
      await alerts.raise(unprovedListingAlarm(wallet, nodes, unprovenSignatures));
      this.#walletsWithoutAlert.delete(wallet);
    } else if (!this.#walletsWithoutAlert.has(wallet)) {
      await alerts.close('listing_unproved', wallet);
      this.#walletsWithoutAlert.add(wallet);
    }
  }

  /**
   * Begins the history of a wallet at the current slot. Only for a database that was never restored: it has no
   * payment of this wallet, so earlier transactions are not judged.
   */
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

function unprovenTransaction(wallet: string, unprovenSignatures: ReadonlySet<string>): DomainError {
  const [signature] = unprovenSignatures;
  const message = `too few nodes confirm transaction ${signature}, which is in the history of wallet ${wallet}`;
  return new DomainError('NodeFault', message);
}

function historyContinues(wallet: string): DomainError {
  return new DomainError(
    'Unavailable',
    `the history of wallet ${wallet} exceeds one check: the next check continues it`,
  );
}
