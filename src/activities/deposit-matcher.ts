import type { Ours } from '../domain/credits.ts';
import { findingOf } from '../domain/credits.ts';
import type { BlockFinding, ScannedTransaction, WatchKind } from '../domain/deposit.ts';
import type { AssetTerms } from '../domain/deposit-asset.ts';
import type { MatchedBlock } from '../ledger/blocks.ts';
import type { Ledger } from '../ledger/ledger.ts';
import type { Matched } from '../ledger/watched.ts';
import { deriveAta } from '../solana/ata.ts';
import { type Search, type SearchedBlock, searchBlock } from '../solana/scan/searched-block.ts';
import { WatchSet } from '../solana/scan/watch-set.ts';
import { TtlCache } from '../solana/ttl-cache.ts';

export interface MatcherOptions {
  /** See `Ours.ownerChangeAllowed`. */
  readonly ownerChangeAllowed: boolean;
  readonly maxTransactionVersion: number;
  /** The least deposit of SOL where no operator has said another, in lamports. */
  readonly minimumLamports: () => Promise<bigint>;
}

/** The watch set in memory; it holds all that came in up to `version`, at least. */
export interface Watch {
  readonly set: WatchSet;
  readonly version: bigint;
}

/** A block and the version of the watch set that it was searched with, at least. */
export interface WatchedBlock extends SearchedBlock {
  readonly watchVersion: bigint;
}

const EXPECTED_AT_FIRST = 100_000;
const FRESH_MS = 1_000;

/** Says what blocks mean for the wallets on record. One for a process: it holds the watch set. */
export class DepositMatcher {
  readonly #ledger: Ledger;
  readonly #options: MatcherOptions;
  readonly #fresh = new TtlCache<Watch>(FRESH_MS, 1);
  #loading: Promise<WatchSet> | null = null;
  #version = 0n;

  constructor(ledger: Ledger, options: MatcherOptions) {
    this.#ledger = ledger;
    this.#options = options;
  }

  /** The watch set, at most a second behind the record; the first call reads it whole. */
  watch(): Promise<Watch> {
    return this.#fresh.get('', () => this.#refresh());
  }

  async #refresh(): Promise<Watch> {
    this.#loading ??= this.#load();
    const loading = this.#loading;
    try {
      const set = await loading;
      const { version, wallets } = await this.#ledger.watched.since(this.#version);
      for (const { address } of wallets) set.add(address);
      if (version > this.#version) this.#version = version;
      return { set, version: this.#version };
    } catch (error) {
      if (this.#loading === loading) this.#loading = null;
      throw error;
    }
  }

  /** Forgets the watch set: the record is not the one that it was read from. */
  forget(): void {
    this.#fresh.clear();
    this.#loading = null;
  }

  /** What the blocks brought, ready to be committed; wallets that come in meanwhile are searched for then. */
  async match(blocks: readonly WatchedBlock[]): Promise<Matched<MatchedBlock>> {
    const findings = await this.findings(blocks);
    const versions = blocks.map(({ watchVersion }) => watchVersion);
    return {
      blocks: blocks.map(({ header }, index) => ({ header, finding: findings[index] ?? NOTHING })),
      watchVersion: versions.reduce((low, version) => (version < low ? version : low), versions[0] ?? 0n),
      rematch: async (added) => {
        const { set } = await this.watch();
        for (const { address } of added) set.add(address);
        const { maxTransactionVersion } = this.#options;
        return this.findings(
          blocks.map(({ bytes, header, node }) =>
            searchBlock(bytes, header.slot, set, { name: node, maxTransactionVersion }),
          ),
        );
      },
    };
  }

  /** What each of these brought to the wallets that are on record now. */
  async findings(
    searches: readonly Pick<Search, 'candidates' | 'transactions'>[],
  ): Promise<readonly BlockFinding[]> {
    const candidates = [...new Set(searches.flatMap((search) => search.candidates))];
    if (candidates.length === 0) return searches.map(() => NOTHING);
    const kinds = await this.#ledger.watched.among(candidates);
    if (kinds.size === 0) return searches.map(() => NOTHING);
    const ours = await this.#ours(
      kinds,
      searches.flatMap(({ transactions }) => transactions),
    );
    return searches.map(({ transactions }) => findingOf({ transactions }, ours));
  }

  async #ours(
    kinds: ReadonlyMap<string, WatchKind>,
    transactions: readonly ScannedTransaction[],
  ): Promise<Ours> {
    const assets = await this.#assets();
    const attempts = await this.#ledger.walletHistory.recordOf(
      transactions.map(({ signature }) => signature),
    );
    return {
      kindOf: (address) => kinds.get(address),
      ataOf: deriveAta,
      asset: (asset) => assets.get(asset),
      isAttempt: (signature) => attempts.has(signature),
      ownerChangeAllowed: this.#options.ownerChangeAllowed,
    };
  }

  /** SOL is among them from the first day. */
  async #assets(): Promise<ReadonlyMap<string, AssetTerms>> {
    const rows: readonly AssetTerms[] = await this.#ledger.assets.list();
    const assets = new Map(rows.map((row) => [row.asset, row]));
    if (assets.has('SOL')) return assets;
    const minimumDeposit = await this.#options.minimumLamports();
    const sol = { asset: 'SOL', program: null, decimals: 9, minimumDeposit, depositsOn: true };
    return assets.set('SOL', sol);
  }

  async #load(): Promise<WatchSet> {
    // What comes in while the rows are read is asked for after that: it may be among them, or not.
    const version = await this.#ledger.watched.version();
    const set = new WatchSet(EXPECTED_AT_FIRST);
    for await (const address of this.#ledger.watched.stream()) set.add(address);
    this.#version = version;
    return set;
  }
}

const NOTHING: BlockFinding = { inflows: [], outflows: [], spends: [] };
