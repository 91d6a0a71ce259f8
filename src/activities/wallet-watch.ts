import pLimit from 'p-limit';
import { WHOLE } from '../domain/alerts.ts';
import { DomainError } from '../domain/errors.ts';
import { LISTED_LATE, quarantineEnd } from '../domain/quarantine.ts';
import { judgeSpend, type RecordedSpend } from '../domain/spends.ts';
import type { Gap } from '../ledger/continuity.ts';
import type { Ledger } from '../ledger/ledger.ts';
import { confirmOneCluster } from '../settlement/one-cluster.ts';
import { verifySignature } from '../signing/verify.ts';
import type { Chain } from '../solana/chain.ts';
import { askHeights } from '../solana/heights.ts';
import type { HistoryBounds, WalletSignature } from '../solana/history-pages.ts';
import { TtlCache } from '../solana/ttl-cache.ts';
import {
  mayHavePaid,
  type Parties,
  partiesOf,
  payeesOf,
  progressOf,
  reachedBy,
} from '../solana/wallet-history.ts';
import { unionOf, type WalletListing, WalletLists } from '../solana/wallet-lists.ts';
import { LostNonces } from './lost-nonces.ts';
import { settleUnproved } from './unproved-spends.ts';
import { landedThoughDead, maybePaidAlarm, restoredAlarm, unknownSpendAlarm } from './wallet-alarms.ts';

export interface WalletWatchDeps {
  readonly ledger: Ledger;
  readonly chain: Chain;
  /** The one that pays now; those that have paid before are watched, too. */
  readonly hotWallet: string;
  /** Transactions that one look reads: dust sent to the wallet delays payments, but every look gets ahead of it. Default 5,000. */
  readonly readAtMost?: number;
  /** How much of a list one look reads at each node. */
  readonly history?: HistoryBounds;
}

/** What became of one list of transactions. */
interface Judged {
  /** Listed, but no node shows bytes that prove it. */
  readonly unproven: ReadonlySet<string>;
  /** The oldest that is left for the next look. */
  readonly next: WalletSignature | undefined;
}

/** One look serves every preparation that begins while it goes on, or within so long of its end. */
const SHARED_MS = 3_000;
const BEFORE_ANY_SLOT = -1n;
const READ_AT_ONCE = 16;
const READ_AT_MOST = 5_000;
/** Signatures that are no spends, in the slots that are listed again: each is read once. */
const HARMLESS_KEPT = 500_000;

/**
 * Holds the record against what the hot wallets really signed, and against its own past. What it finds wrong stops all preparations
 * in Postgres, for every worker; it repairs nothing.
 * Source: DESIGN "When an attempt is dead", last paragraph; docs/decisions/0010-wallet-history.md.
 */
export class WalletWatch {
  readonly #deps: WalletWatchDeps;
  readonly #looks = new TtlCache<void>(SHARED_MS, 1, 'answered');
  readonly #harmless = new Set<string>();
  readonly #lists: WalletLists;
  readonly #lostNonces: LostNonces;

  constructor(deps: WalletWatchDeps) {
    this.#deps = deps;
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
    this.#harmless.clear();
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

  async #judgeWallet(wallet: string, gap: Gap | null): Promise<bigint | null> {
    const { ledger, chain } = this.#deps;
    const { quorum } = chain.pool;
    const known = await ledger.walletHistory.judgedTo(wallet);
    if (known === null && gap === null) return this.#begin(wallet);
    // A record that was restored from before its first look has forgotten what it paid from this wallet.
    const from = known ?? BEFORE_ANY_SLOT;
    await this.#judgeScanned(wallet);
    const listings = await this.#lists.ofMost(chain.pool, wallet, from, (one) => this.#harmless.has(one));
    const { unproven, next } = await this.#judgeAll(wallet, unionOf(listings));
    const believed = listings.filter(({ entries }) => !entries.some((one) => unproven.has(one.signature)));
    if (believed.length < Math.min(quorum, listings.length)) throw unreadable(wallet, unproven);
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

  /**
   * Judges what the scan saw the wallet sign, which is found there also where no list names it. What no node proves is asked for again
   * in each look, until the wait for a proof ends: it may be what one node made up, and the lists of all are judged beside it.
   */
  async #judgeScanned(wallet: string): Promise<void> {
    const { ledger, chain, readAtMost = READ_AT_MOST } = this.#deps;
    const spends = await ledger.spends.unjudged(wallet, readAtMost);
    if (spends.length === 0) return;
    const { unproven } = await this.#judgeAll(wallet, spends);
    const judged = spends.flatMap(({ signature }) => (unproven.has(signature) ? [] : [signature]));
    const left = spends.filter(({ signature }) => unproven.has(signature));
    const settled = await settleUnproved({ ledger, pool: chain.pool }, wallet, left);
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

  /** Judges the oldest first, and only so many as one look may read. */
  async #judgeAll(wallet: string, entries: readonly WalletSignature[]): Promise<Judged> {
    const { ledger, chain, readAtMost = READ_AT_MOST } = this.#deps;
    const signatures = entries.map(({ signature }) => signature);
    const recorded = await ledger.walletHistory.recordOf(signatures);
    const told = await ledger.alerts.everRaised('unknown_spend', signatures);
    for (const [signature, spend] of recorded) await this.#judgeRecorded(wallet, signature, spend);
    const strange = entries.filter(({ signature }) => !recorded.has(signature) && !told.has(signature));
    const read = await pLimit(READ_AT_ONCE).map(strange.slice(0, readAtMost), async (entry) => ({
      entry,
      parties: await partiesOf(chain.pool, entry.signature, verifySignature),
    }));
    const unproven = new Set<string>();
    for (const { entry, parties } of read) {
      if (parties === null) unproven.add(entry.signature);
      else await this.#judgeStrange(wallet, entry, parties);
    }
    return { unproven, next: strange[readAtMost] };
  }

  async #judgeRecorded(wallet: string, signature: string, recorded: RecordedSpend): Promise<void> {
    const isFailed = 'state' in recorded && recorded.state === 'failed';
    const hasSucceeded = isFailed && (await this.#hasSucceeded(signature));
    const verdict = judgeSpend(wallet, [], recorded, hasSucceeded);
    if (verdict.kind === 'dead_attempt_landed') await this.#secondPayment(verdict, signature);
  }

  /** True where any node shows it finalized without an error. */
  async #hasSucceeded(signature: string): Promise<boolean> {
    const answers = await this.#deps.chain.statuses([signature]);
    const said = answers.flatMap(({ sightings }) => sightings);
    return said.some((one) => one.kind === 'seen' && one.commitment === 'finalized' && one.error === null);
  }

  async #judgeStrange(wallet: string, entry: WalletSignature, parties: Parties): Promise<void> {
    const { ledger } = this.#deps;
    // The record may be older than the signature, and know the message all the same.
    const recorded = await ledger.walletHistory.recordOfMessage(parties.messageHash);
    if (recorded !== null) {
      await this.#takeFound(recorded, parties.signatures);
      return this.#judgeRecorded(wallet, entry.signature, recorded);
    }
    if (judgeSpend(wallet, parties.signers, null, false).kind === 'not_a_spend')
      return this.#remember(entry.signature);
    // First those that it may have paid: the alarm of the spend is what says that it was seen.
    const payees = await payeesOf(this.#deps.chain.pool, entry.signature, verifySignature);
    const named = [...parties.all, ...payees.all];
    const unpaid = await ledger.walletHistory.unpaidBy(named, payees.hidesOwners);
    const suspects = unpaid.filter((one) => mayHavePaid({ ...payees, all: named }, one));
    for (const one of suspects) await ledger.alerts.raise(maybePaidAlarm(one, entry.signature));
    const ids = suspects.map(({ id }) => id);
    await ledger.pauses.sound(unknownSpendAlarm(entry.signature, entry.slot, ids));
  }

  /**
   * An attempt that has landed under a signature that was lost with the record, or that its signer never handed out, goes on under that
   * one.
   */
  async #takeFound({ settlementId, n }: RecordedSpend, signatures: readonly string[]): Promise<void> {
    await this.#deps.ledger.attempts.takeFound(settlementId, n, signatures);
  }

  #remember(signature: string): void {
    this.#harmless.add(signature);
    const [oldest] = this.#harmless;
    if (this.#harmless.size > HARMLESS_KEPT && oldest !== undefined) this.#harmless.delete(oldest);
  }

  async #secondPayment(
    { settlementId, n }: { readonly settlementId: string; readonly n: number },
    signature: string,
  ): Promise<void> {
    const { ledger } = this.#deps;
    const told = await ledger.alerts.everRaised('dead_attempt_landed', [settlementId]);
    if (told.has(settlementId)) return;
    const later = (await ledger.attempts.of(settlementId)).filter((attempt) => attempt.n > n);
    const others = later.flatMap((attempt) => (attempt.signature === null ? [] : [attempt.signature]));
    const alarm = landedThoughDead(settlementId, n, signature, others);
    await ledger.pauses.sound(alarm, settlementId);
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
