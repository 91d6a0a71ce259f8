import { findingOf, type Ours } from '../../domain/credits.ts';
import type { BlockFinding, ScannedTransaction, WatchKind } from '../../domain/deposit.ts';
import { type AssetTerms, defaultSolTerms, SOL } from '../../domain/deposit-asset.ts';
import { DomainError } from '../../domain/errors.ts';
import type { Ledger } from '../../ledger/ledger.ts';
import type { MatchedBlock } from '../../ledger/scan/scan.ts';
import type { MatchedBlocks, StaleWatchSet } from '../../ledger/scan/watched.ts';
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
  /** Minimum SOL deposit in lamports if no operator has set one. */
  readonly minimumLamports: () => Promise<bigint>;
  /** Maximum age of the watch set in memory when blocks are searched. Default 1,000. */
  readonly maxAgeMs?: number;
  /** Maximum mentions of candidates in one commit, which limits its deposits and outflows. Default 2,000. */
  readonly maxMentions?: number;
}

/**
 * A watch set in memory. It contains every wallet up to watch version `version` of the database, and possibly later
 * ones.
 */
export interface WatchState {
  readonly set: WatchSet;
  readonly version: bigint;
}

export interface WatchedBlock extends SearchedBlock {
  readonly watch: WatchState;
  /** Fetches the same block again and searches it with the watch set of `watch`. */
  readonly readAgain: (watch: WatchState) => Promise<WatchedBlock>;
}

type SearchResult = Pick<Search, 'candidates' | 'transactions'>;
type WithFinding<Result extends SearchResult> = Result & { readonly finding: BlockFinding };
type TermsByAsset = ReadonlyMap<string, AssetTerms>;
type Rules = Pick<Ours, 'ataOf' | 'asset' | 'ownerChangeAllowed' | 'nestedIn'>;

/**
 * Finds a transaction's movements of our wallets. `nestedOf`: wallets for which transfers to token accounts of their
 * token accounts are found too, even if the transaction does not name the wallet.
 */
export type MatchTransaction = (
  transaction: ScannedTransaction,
  nestedOf?: readonly string[],
) => Promise<BlockFinding>;

const EXPECTED_WALLETS = 100_000;
const MAX_AGE_MS = 1_000;
const MAX_MENTIONS = 2_000;
/** Maximum attempts of one commit if wallets are added meanwhile. */
const MAX_ATTEMPTS = 3;

/** Finds the deposits, outflows and spends in blocks. Create one instance per process, which stores the watch set. */
export class DepositMatcher {
  readonly #ledger: Ledger;
  readonly #options: MatcherOptions;
  readonly #cache: TtlCache<WatchState>;
  /** Each refresh continues the previous one, so that the version always belongs to the same set. */
  #current: Promise<WatchState> | null = null;

  constructor(ledger: Ledger, options: MatcherOptions) {
    this.#ledger = ledger;
    this.#options = options;
    this.#cache = new TtlCache(options.maxAgeMs ?? MAX_AGE_MS, 1);
  }

  /** The watch set, at most `maxAgeMs` old. The first call reads all watched wallets. */
  watch(): Promise<WatchState> {
    return this.#cache.get('', () => this.#refresh());
  }

  #refresh(): Promise<WatchState> {
    const next = this.#addNewWallets(this.#current);
    this.#current = next;
    next.catch(() => {
      if (this.#current === next) this.#current = null;
    });
    return next;
  }

  async #addNewWallets(previous: Promise<WatchState> | null): Promise<WatchState> {
    const { set, version: before } = await (previous ?? this.#readAll());
    const { version, wallets } = await this.#ledger.watched.changesSince(before);
    for (const { address } of wallets) set.add(address);
    return { set, version };
  }

  async #readAll(): Promise<WatchState> {
    // The version is read before the rows, so that wallets that are added meanwhile are read at the next refresh.
    const version = await this.#ledger.watched.version();
    const set = new WatchSet(EXPECTED_WALLETS);
    for await (const address of this.#ledger.watched.stream()) set.add(address);
    return { set, version };
  }

  /** Discards the watch set. Call it if the database has been restored since the set was read. */
  forget(): void {
    this.#cache.clear();
    this.#current = null;
  }

  /**
   * Matches as many of the first blocks as fit in one commit, at least one, and commits them with `commit`. Repeats
   * this if wallets were added meanwhile. The last attempt blocks imports of wallets, so that it succeeds however many
   * follow.
   */
  async commit<Result extends string>(
    blocks: readonly WatchedBlock[],
    commit: (matched: MatchedBlocks<MatchedBlock>) => Promise<Result | StaleWatchSet>,
  ): Promise<{ readonly result: Result | StaleWatchSet; readonly blocks: readonly MatchedBlock[] }> {
    const terms = await this.#terms();
    const tryCommit = async (attempt: number) => {
      const matched = await this.match(blocks, attempt, terms);
      return { result: await commit(matched), blocks: matched.blocks };
    };
    for (let attempt = 1; ; attempt += 1) {
      const isLast = attempt === MAX_ATTEMPTS;
      const outcome = await (isLast
        ? this.#ledger.watched.holdVersion(() => tryCommit(attempt))
        : tryCommit(attempt));
      if (outcome.result === 'unknown_version') this.forget();
      if (outcome.result !== 'watch_set_changed' || isLast) return outcome;
    }
  }

  /**
   * Matches as many of the first blocks as fit in one commit, at least one. Every attempt except the first reads the
   * newest watch set. During the last attempt `commit` holds a lock that imports wait for; that attempt therefore
   * sends no requests to nodes, and throws Unavailable if a block must be read again.
   */
  async match(
    blocks: readonly WatchedBlock[],
    attempt = 1,
    terms: TermsByAsset | Promise<TermsByAsset> = this.#terms(),
  ): Promise<MatchedBlocks<MatchedBlock>> {
    const rules = this.#rules(await terms);
    const watch = await (attempt === 1 ? this.watch() : this.#refresh());
    const canAskNodes = attempt < MAX_ATTEMPTS;
    const searchedBlocks = await Promise.all(
      blocks.map((block) => this.#searchAgain(watch, block, canAskNodes)),
    );
    const searches = fittingOneCommit(searchedBlocks, this.#options.maxMentions ?? MAX_MENTIONS);
    const matched = await addFindings(searches, this.#ledger, rules);
    return {
      blocks: matched.map(({ header, finding }) => ({ header, finding })),
      watchVersion: watch.version,
    };
  }

  /** Adds to each search the movements of the wallets that are watched now. */
  async findings<Result extends SearchResult>(
    searches: readonly Result[],
  ): Promise<readonly WithFinding<Result>[]> {
    const isEmpty = searches.every(({ candidates }) => candidates.length === 0);
    return addFindings(searches, this.#ledger, this.#rules(isEmpty ? new Map() : await this.#terms()));
  }

  /** Returns a function that matches single transactions by the current asset terms. Each call looks up the wallets. */
  async transactionMatcher(): Promise<MatchTransaction> {
    const terms = await this.#terms();
    return async (transaction, nestedOf = []) => {
      const rules = { ...this.#rules(terms), ...nestedRule(terms, nestedOf) };
      const search = { candidates: [...addressesOf(transaction), ...nestedOf], transactions: [transaction] };
      return findingOf(search, await ownWalletsAmong([search], this.#ledger, rules));
    };
  }

  /**
   * The block, searched with `watch`. Throws Unavailable if the block must be fetched again and `canAskNodes` is false.
   */
  async #searchAgain(watch: WatchState, block: WatchedBlock, canAskNodes: boolean): Promise<WatchedBlock> {
    const { retained, header } = block;
    // A search with another set was made before `forget`, possibly for another database: it must be repeated.
    const isSameSet = block.watch.set === watch.set;
    if (isSameSet && block.watch.version >= watch.version) return block;
    if (retained.kind === 'bytes')
      return { ...block, ...this.#search(block, retained.bytes, watch.set), header, watch };
    if (isSameSet) {
      const { wallets } = await this.#ledger.watched.changesSince(block.watch.version);
      if (!wallets.some(({ address }) => retained.names.has(address))) return { ...block, watch };
    }
    if (canAskNodes) return { ...(await block.readAgain(watch)), header };
    const message = `the block of slot ${header.slot} must be fetched again: it names a wallet that was added after the block was searched`;
    throw new DomainError('Unavailable', message);
  }

  #search({ header, node }: WatchedBlock, bytes: Uint8Array, set: WatchSet): Search {
    const { maxTransactionVersion } = this.#options;
    return searchBlock(bytes, {
      slot: header.slot,
      watched: set,
      node: { name: node, maxTransactionVersion },
    });
  }

  #rules(terms: TermsByAsset): Rules {
    const { ownerChangeAllowed } = this.#options;
    return { ataOf: ataOrEmpty, asset: (asset) => terms.get(asset), ownerChangeAllowed };
  }

  async #terms(): Promise<TermsByAsset> {
    const rows: readonly AssetTerms[] = await this.#ledger.assets.list();
    const terms = new Map(rows.map((row) => [row.asset, row]));
    return terms.has(SOL) ? terms : terms.set(SOL, defaultSolTerms(await this.#options.minimumLamports()));
  }
}

/** The first searches with at most `maxMentions` mentions of candidates in total, and always the first search. */
function fittingOneCommit<Result extends SearchResult>(
  searches: readonly Result[],
  maxMentions: number,
): readonly Result[] {
  let mentions = 0;
  const end = searches.findIndex((search, index) => {
    mentions += mentionsOf(search);
    return index > 0 && mentions > maxMentions;
  });
  return end < 0 ? searches : searches.slice(0, end);
}

function mentionsOf({ candidates, transactions }: SearchResult): number {
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

/** The associated token account; empty if none can be derived, because a node can return any address as a mint. */
function ataOrEmpty(wallet: string, mint: string, program: string): string {
  try {
    return deriveAta(wallet, mint, program);
  } catch {
    return '';
  }
}

async function addFindings<Result extends SearchResult>(
  searches: readonly Result[],
  ledger: Ledger,
  rules: Rules,
): Promise<readonly WithFinding<Result>[]> {
  const ours = await ownWalletsAmong(searches, ledger, rules);
  return searches.map((search) => ({ ...search, finding: findingOf(search, ours) }));
}

async function ownWalletsAmong(
  searches: readonly SearchResult[],
  ledger: Ledger,
  rules: Rules,
): Promise<Ours> {
  const candidates = [...new Set(searches.flatMap((search) => search.candidates))];
  const kinds =
    candidates.length === 0 ? new Map<string, WatchKind>() : await ledger.watched.watchKindsOf(candidates);
  const signatures = searches.flatMap(({ transactions }) => transactions.map(({ signature }) => signature));
  const attempts =
    kinds.size === 0
      ? new Map<string, RecordedSpend>()
      : await ledger.walletHistory.attemptsBySignature(signatures);
  return {
    ...rules,
    kindOf: (address) => kinds.get(address),
    isAttempt: (signature) => attempts.get(signature)?.isAdopted === false,
  };
}
