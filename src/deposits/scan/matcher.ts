import { lowest } from '../../domain/bigint.ts';
import type { Ours } from '../../domain/credits.ts';
import { findingOf } from '../../domain/credits.ts';
import type { BlockFinding, ScannedTransaction, WatchKind } from '../../domain/deposit.ts';
import { type AssetTerms, SOL, untouchedSol } from '../../domain/deposit-asset.ts';
import { DomainError } from '../../domain/errors.ts';
import type { Ledger } from '../../ledger/ledger.ts';
import type { MatchedBlock } from '../../ledger/scan/blocks.ts';
import type { Matched, RecordView, WatchedWallet } from '../../ledger/scan/watched.ts';
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
export interface Watch {
  readonly set: WatchSet;
  readonly version: bigint;
}

export interface WatchedBlock extends SearchedBlock {
  readonly watch: Watch;
  /** Reads the same block from a node again and searches it with another set. */
  readonly readAgain: (watch: Watch) => Promise<WatchedBlock>;
}

type Searched = Pick<Search, 'candidates' | 'transactions'>;
type WithFinding<Asked extends Searched> = Asked & { readonly finding: BlockFinding };
type Terms = ReadonlyMap<string, AssetTerms>;
type Rules = Pick<Ours, 'ataOf' | 'asset' | 'ownerChangeAllowed' | 'nestedIn'>;

/**
 * Finds a transaction's movements of our wallets. `nestedOf`: wallets whose token accounts may own other
 * token accounts. The transaction need not name these wallets.
 */
export type Judge = (transaction: ScannedTransaction, nestedOf?: readonly string[]) => Promise<BlockFinding>;

/** A judge that also finds token accounts owned by token accounts of these wallets. */
export function withNested(judge: Judge, nestedOf: readonly string[]): Judge {
  return (transaction) => judge(transaction, nestedOf);
}

const EXPECTED_AT_FIRST = 100_000;
const FRESH_MS = 1_000;
const MOST_MENTIONS = 2_000;

/** Finds the deposits, outflows and spends in blocks. One instance per process, because it keeps the watch set. */
export class DepositMatcher {
  readonly #ledger: Ledger;
  readonly #options: MatcherOptions;
  readonly #fresh: TtlCache<Watch>;
  readonly #record: RecordView;
  /** Each value extends the previous set, so that a version always belongs to the set it was read for. */
  #current: Promise<Watch> | null = null;

  constructor(ledger: Ledger, options: MatcherOptions) {
    this.#ledger = ledger;
    this.#options = options;
    this.#fresh = new TtlCache(options.freshMs ?? FRESH_MS, 1);
    this.#record = {
      among: (addresses) => ledger.watched.among(addresses),
      recordOf: (signatures) => ledger.walletHistory.recordOf(signatures),
    };
  }

  /** The watch set, at most `freshMs` old. The first call reads all of it. */
  watch(): Promise<Watch> {
    return this.#fresh.get('', () => this.#refresh());
  }

  #refresh(): Promise<Watch> {
    const next = this.#catchUp(this.#current);
    this.#current = next;
    next.catch(() => {
      if (this.#current === next) this.#current = null;
    });
    return next;
  }

  async #catchUp(known: Promise<Watch> | null): Promise<Watch> {
    const { set, version: before } = await (known ?? this.#load());
    const { version, wallets } = await this.#ledger.watched.since(before);
    for (const { address } of wallets) set.add(address);
    return { set, version };
  }

  async #load(): Promise<Watch> {
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
   * Matches as many of the first blocks as fit in one commit, at least one. Nodes and other connections are used only
   * here: the commit holds locks that all writers wait for. `rematch` adds wallets watched since, without any request.
   */
  async match(blocks: readonly WatchedBlock[]): Promise<Matched<MatchedBlock>> {
    const watch = await this.watch();
    const rules = this.#rules(await this.#terms());
    const searched = await Promise.all(blocks.map((block) => this.#searchedWith(watch, block)));
    const searches = forOneCommit(searched, this.#options.mostMentions ?? MOST_MENTIONS);
    const taken = searched.slice(0, searches.length);
    const found = await find(searches, this.#record, rules);
    const versions = searches.map((search) => search.watch.version);
    return {
      blocks: found.map(matchedBlock),
      watchVersion: lowest([watch.version, ...versions]),
      rematch: async (added, record) => {
        for (const { address } of added) watch.set.add(address);
        const again = taken.map((block) => this.#withAdded(block, added, watch.set));
        return (await find(again, record, rules)).map(matchedBlock);
      },
    };
  }

  /** Adds to each search its movements of the wallets watched now. */
  async findings<Asked extends Searched>(searches: readonly Asked[]): Promise<readonly WithFinding<Asked>[]> {
    const isEmpty = searches.every(({ candidates }) => candidates.length === 0);
    return find(searches, this.#record, this.#rules(isEmpty ? new Map() : await this.#terms()));
  }

  /** A judge with the current asset terms. It looks up wallets at each call. */
  async judge(): Promise<Judge> {
    const terms = await this.#terms();
    return async (transaction, nestedOf = []) => {
      const rules = { ...this.#rules(terms), ...nestedRule(terms, nestedOf) };
      const search = { candidates: [...addressesOf(transaction), ...nestedOf], transactions: [transaction] };
      return findingOf(search, await oursAmong([search], this.#record, rules));
    };
  }

  /** Searches a block again if its watch set was dropped: such a search belongs to another database. */
  async #searchedWith(watch: Watch, block: WatchedBlock): Promise<WatchedBlock> {
    if (block.watch.set === watch.set) return block;
    const { kept } = block;
    const again =
      kept.kind === 'bytes'
        ? { ...block, ...this.#search(block, kept.bytes, watch.set), watch }
        : await block.readAgain(watch);
    return { ...again, header: block.header };
  }

  /** Throws Unavailable if the block must be read again: a commit must not wait for a node. */
  #withAdded(block: WatchedBlock, added: readonly WatchedWallet[], set: WatchSet): Search {
    const { kept, header } = block;
    if (kept.kind === 'bytes') return { ...this.#search(block, kept.bytes, set), header };
    if (!added.some(({ address }) => kept.names.has(address))) return block;
    this.forget();
    const message = `block ${header.slot} must be read again: it names a wallet that came in while it was read`;
    throw new DomainError('Unavailable', message);
  }

  #search({ header, node }: WatchedBlock, bytes: Uint8Array, set: WatchSet): Search {
    const { maxTransactionVersion } = this.#options;
    return searchBlock(bytes, header.slot, set, { name: node, maxTransactionVersion });
  }

  #rules(terms: Terms): Rules {
    const { ownerChangeAllowed } = this.#options;
    return { ataOf: ataOrNone, asset: (asset) => terms.get(asset), ownerChangeAllowed };
  }

  async #terms(): Promise<Terms> {
    const rows: readonly AssetTerms[] = await this.#ledger.assets.list();
    const terms = new Map(rows.map((row) => [row.asset, row]));
    return terms.has(SOL) ? terms : terms.set(SOL, untouchedSol(await this.#options.minimumLamports()));
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

function nestedRule(terms: Terms, wallets: readonly string[]): Pick<Ours, 'nestedIn'> {
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

function matchedBlock({ header, finding }: WithFinding<Search>): MatchedBlock {
  return { header, finding };
}

async function find<Asked extends Searched>(
  searches: readonly Asked[],
  record: RecordView,
  rules: Rules,
): Promise<readonly WithFinding<Asked>[]> {
  const ours = await oursAmong(searches, record, rules);
  return searches.map((search) => ({ ...search, finding: findingOf(search, ours) }));
}

async function oursAmong(searches: readonly Searched[], record: RecordView, rules: Rules): Promise<Ours> {
  const candidates = [...new Set(searches.flatMap((search) => search.candidates))];
  const kinds = candidates.length === 0 ? new Map<string, WatchKind>() : await record.among(candidates);
  const signatures = searches.flatMap(({ transactions }) => transactions.map(({ signature }) => signature));
  const attempts = kinds.size === 0 ? new Map<string, RecordedSpend>() : await record.recordOf(signatures);
  return {
    ...rules,
    kindOf: (address) => kinds.get(address),
    isAttempt: (signature) => attempts.get(signature)?.isAdopted === false,
  };
}
