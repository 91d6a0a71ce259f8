import { findingOf, type Ours } from '../../domain/credits.ts';
import type { BlockFinding, ScannedTransaction, WatchKind } from '../../domain/deposit.ts';
import { type AssetTerms, defaultSolTerms, SOL } from '../../domain/deposit-asset.ts';
import { DomainError } from '../../domain/errors.ts';
import type { Ledger } from '../../ledger/ledger.ts';
import type { MatchedBlock } from '../../ledger/scan/scan.ts';
import type { Matched, StaleWatchSet } from '../../ledger/scan/watched.ts';
import type { RecordedSpend } from '../../ledger/settlements/wallet-history.ts';
import { TtlCache } from '../../solana/rpc/ttl-cache.ts';
import { WatchSet } from '../../solana/scan/bytes/watch-set.ts';
import { addressesOf, type Search, searchBlock } from '../../solana/scan/search.ts';
import type { SearchedBlock } from '../../solana/scan/searched-block.ts';
import { deriveAta } from '../../solana/tokens/ata.ts';
import { derivedAccountsOf } from '../credits/derived-accounts.ts';

export interface MatcherOptions {
  /** See `Ours.ownerChangeAllowed`. */
  readonly ownerChangeAllowed: boolean;
  readonly maxTransactionVersion: number;
  /** Minimum SOL deposit in lamports, unless an operator has set another. */
  readonly minimumLamports: () => Promise<bigint>;
  /** Milliseconds before the watch set in memory is refreshed; a commit always refreshes. Default 1,000. */
  readonly freshMs?: number;
  /** Limit on mentions of our wallets per commit, which bounds its deposits and outflows. Default 2,000. */
  readonly mostMentions?: number;
}

/** A watch set in memory. It contains at least every wallet up to `version` of the database. */
export interface WatchState {
  readonly set: WatchSet;
  readonly version: bigint;
}

export interface WatchedBlock extends SearchedBlock {
  readonly watch: WatchState;
  /** Reads the same block from a node again and searches it with another set. */
  readonly readAgain: (watch: WatchState) => Promise<WatchedBlock>;
}

type Searched = Pick<Search, 'candidates' | 'transactions'>;
type WithFinding<Asked extends Searched> = Asked & { readonly finding: BlockFinding };
type TermsByAsset = ReadonlyMap<string, AssetTerms>;
type Rules = Pick<Ours, 'ataOf' | 'asset' | 'ownerChangeAllowed' | 'nestedIn'>;

/**
 * Finds a transaction's movements of our wallets. `nestedOf`: wallets whose token accounts may own other
 * token accounts. The transaction need not name these wallets.
 */
export type MatchTransaction = (
  transaction: ScannedTransaction,
  nestedOf?: readonly string[],
) => Promise<BlockFinding>;

const EXPECTED_AT_FIRST = 100_000;
const FRESH_MS = 1_000;
const MAX_MENTIONS = 2_000;
/** Of one commit, while wallets are added. */
const ATTEMPTS = 3;

/** Finds the deposits, outflows and spends in blocks. One instance per process, because it keeps the watch set. */
export class DepositMatcher {
  readonly #ledger: Ledger;
  readonly #options: MatcherOptions;
  readonly #fresh: TtlCache<WatchState>;
  /** Each value extends the previous set, so that a version always belongs to the set it was read for. */
  #current: Promise<WatchState> | null = null;

  constructor(ledger: Ledger, options: MatcherOptions) {
    this.#ledger = ledger;
    this.#options = options;
    this.#fresh = new TtlCache(options.freshMs ?? FRESH_MS, 1);
  }

  /** The watch set, at most `freshMs` old. The first call reads all of it. */
  watch(): Promise<WatchState> {
    return this.#fresh.get('', () => this.#refresh());
  }

  #refresh(): Promise<WatchState> {
    const next = this.#catchUp(this.#current);
    this.#current = next;
    next.catch(() => {
      if (this.#current === next) this.#current = null;
    });
    return next;
  }

  async #catchUp(known: Promise<WatchState> | null): Promise<WatchState> {
    const { set, version: before } = await (known ?? this.#load());
    const { version, wallets } = await this.#ledger.watched.since(before);
    for (const { address } of wallets) set.add(address);
    return { set, version };
  }

  async #load(): Promise<WatchState> {
    // The version is read first: wallets added while the rows are read are read again later.
    const version = await this.#ledger.watched.version();
    const set = new WatchSet(EXPECTED_AT_FIRST);
    for await (const address of this.#ledger.watched.stream()) set.add(address);
    return { set, version };
  }

  /** Drops the watch set, because the database is not the one that it was read from. */
  forget(): void {
    this.#fresh.clear();
    this.#current = null;
  }

  /**
   * Matches as many of the first blocks as fit in one commit, at least one, and commits them with `commit`; again if
   * wallets were added meanwhile. The last try keeps wallets from being added, so that endless imports cannot starve
   * it.
   */
  async commit<Result extends string>(
    blocks: readonly WatchedBlock[],
    commit: (matched: Matched<MatchedBlock>) => Promise<Result | StaleWatchSet>,
  ): Promise<{ readonly result: Result | StaleWatchSet; readonly blocks: readonly MatchedBlock[] }> {
    const terms = await this.#terms();
    const attempt = async (number: number) => {
      const matched = await this.match(blocks, number, terms);
      return { result: await commit(matched), blocks: matched.blocks };
    };
    for (let number = 1; ; number += 1) {
      const isLast = number === ATTEMPTS;
      const done = await (isLast ? this.#ledger.watched.hold(() => attempt(number)) : attempt(number));
      if (done.result === 'unknown_version') this.forget();
      if (done.result !== 'watch_set_changed' || isLast) return done;
    }
  }

  /**
   * Matches as many of the first blocks as fit in one commit, at least one. Every attempt but the first one reads the
   * newest watch set. The last one holds a lock that imports wait for, so it asks no node.
   */
  async match(
    blocks: readonly WatchedBlock[],
    attempt = 1,
    terms: TermsByAsset | Promise<TermsByAsset> = this.#terms(),
  ): Promise<Matched<MatchedBlock>> {
    const rules = this.#rules(await terms);
    const watch = await (attempt === 1 ? this.watch() : this.#refresh());
    const mayRead = attempt < ATTEMPTS;
    const searched = await Promise.all(blocks.map((block) => this.#searchedWith(watch, block, mayRead)));
    const searches = forOneCommit(searched, this.#options.mostMentions ?? MAX_MENTIONS);
    const found = await find(searches, this.#ledger, rules);
    return {
      blocks: found.map(({ header, finding }) => ({ header, finding })),
      watchVersion: watch.version,
    };
  }

  /** Adds to each search its movements of the wallets watched now. */
  async findings<Asked extends Searched>(searches: readonly Asked[]): Promise<readonly WithFinding<Asked>[]> {
    const isEmpty = searches.every(({ candidates }) => candidates.length === 0);
    return find(searches, this.#ledger, this.#rules(isEmpty ? new Map() : await this.#terms()));
  }

  /** A judge with the current asset terms. It looks up wallets at each call. */
  async judge(): Promise<MatchTransaction> {
    const terms = await this.#terms();
    return async (transaction, nestedOf = []) => {
      const rules = { ...this.#rules(terms), ...nestedRule(terms, nestedOf) };
      const search = { candidates: [...addressesOf(transaction), ...nestedOf], transactions: [transaction] };
      return findingOf(search, await oursAmong([search], this.#ledger, rules));
    };
  }

  /** The block, searched with all of `watch`. Throws Unavailable if a node must be asked and `mayRead` is false. */
  async #searchedWith(watch: WatchState, block: WatchedBlock, mayRead: boolean): Promise<WatchedBlock> {
    const { kept, header } = block;
    // A search with a set that was dropped belongs to another database.
    const isOfSet = block.watch.set === watch.set;
    if (isOfSet && block.watch.version >= watch.version) return block;
    if (kept.kind === 'bytes')
      return { ...block, ...this.#search(block, kept.bytes, watch.set), header, watch };
    if (isOfSet) {
      const { wallets } = await this.#ledger.watched.since(block.watch.version);
      if (!wallets.some(({ address }) => kept.names.has(address))) return { ...block, watch };
    }
    if (mayRead) return { ...(await block.readAgain(watch)), header };
    const message = `block ${header.slot} must be read again: it names a wallet that was added while the block was read`;
    throw new DomainError('Unavailable', message);
  }

  #search({ header, node }: WatchedBlock, bytes: Uint8Array, set: WatchSet): Search {
    const { maxTransactionVersion } = this.#options;
    return searchBlock(bytes, header.slot, set, { name: node, maxTransactionVersion });
  }

  #rules(terms: TermsByAsset): Rules {
    const { ownerChangeAllowed } = this.#options;
    return { ataOf: ataOrNone, asset: (asset) => terms.get(asset), ownerChangeAllowed };
  }

  async #terms(): Promise<TermsByAsset> {
    const rows: readonly AssetTerms[] = await this.#ledger.assets.list();
    const terms = new Map(rows.map((row) => [row.asset, row]));
    return terms.has(SOL) ? terms : terms.set(SOL, defaultSolTerms(await this.#options.minimumLamports()));
  }
}

/** The first blocks within `most` mentions of our wallets; the first block always. */
function forOneCommit<Asked extends Searched>(searches: readonly Asked[], most: number): readonly Asked[] {
  let mentions = 0;
  const end = searches.findIndex((search, index) => {
    mentions += mentionsOf(search);
    return index > 0 && mentions > most;
  });
  return end < 0 ? searches : searches.slice(0, end);
}

function mentionsOf({ candidates, transactions }: Searched): number {
  const ours = new Set(candidates);
  const mentions = transactions.map(
    (transaction) => addressesOf(transaction).filter((address) => ours.has(address)).length,
  );
  return mentions.reduce((sum, count) => sum + count, 0);
}

function nestedRule(terms: TermsByAsset, wallets: readonly string[]): Pick<Ours, 'nestedIn'> {
  const owners = new Map(
    wallets.flatMap((wallet) =>
      derivedAccountsOf([...terms.values()], wallet).map((owner) => [owner, wallet] as const),
    ),
  );
  return { nestedIn: (owner) => owners.get(owner) };
}

/** Empty if there is none: a node may return anything as a mint. */
function ataOrNone(wallet: string, mint: string, program: string): string {
  try {
    return deriveAta(wallet, mint, program);
  } catch {
    return '';
  }
}

async function find<Asked extends Searched>(
  searches: readonly Asked[],
  ledger: Ledger,
  rules: Rules,
): Promise<readonly WithFinding<Asked>[]> {
  const ours = await oursAmong(searches, ledger, rules);
  return searches.map((search) => ({ ...search, finding: findingOf(search, ours) }));
}

async function oursAmong(searches: readonly Searched[], ledger: Ledger, rules: Rules): Promise<Ours> {
  const candidates = [...new Set(searches.flatMap((search) => search.candidates))];
  const kinds =
    candidates.length === 0 ? new Map<string, WatchKind>() : await ledger.watched.among(candidates);
  const signatures = searches.flatMap(({ transactions }) => transactions.map(({ signature }) => signature));
  const attempts =
    kinds.size === 0 ? new Map<string, RecordedSpend>() : await ledger.walletHistory.recordOf(signatures);
  return {
    ...rules,
    kindOf: (address) => kinds.get(address),
    isAttempt: (signature) => attempts.get(signature)?.isAdopted === false,
  };
}
