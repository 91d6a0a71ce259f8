import { lowest } from '../../domain/bigint.ts';
import type { Ours } from '../../domain/credits.ts';
import { findingOf } from '../../domain/credits.ts';
import type { BlockFinding, ScannedTransaction, WatchKind } from '../../domain/deposit.ts';
import { type AssetTerms, SOL, untouchedSol } from '../../domain/deposit-asset.ts';
import { DomainError } from '../../domain/errors.ts';
import type { RecordedSpend } from '../../domain/spends.ts';
import type { Ledger } from '../../ledger/ledger.ts';
import type { MatchedBlock } from '../../ledger/scan/blocks.ts';
import type { Matched, RecordView, WatchedWallet } from '../../ledger/scan/watched.ts';
import { TtlCache } from '../../solana/rpc/ttl-cache.ts';
import { WatchSet } from '../../solana/scan/bytes/watch-set.ts';
import { addressesOf, type Search, searchBlock } from '../../solana/scan/search.ts';
import type { SearchedBlock } from '../../solana/scan/searched-block.ts';
import { deriveAta } from '../../solana/tokens/ata.ts';
import { Showings } from '../credits/block-sources.ts';
import { derivedAccountsOf } from '../credits/derived-accounts.ts';

export interface MatcherOptions {
  /** See `Ours.ownerChangeAllowed`. */
  readonly ownerChangeAllowed: boolean;
  readonly maxTransactionVersion: number;
  /** The least deposit of SOL where no operator has said another, in lamports. */
  readonly minimumLamports: () => Promise<bigint>;
  /** How long the watch set in memory is matched with before the record is asked what came in; a commit always is. Default 1,000. */
  readonly freshMs?: number;
  /** How often the transactions of one commit may name wallets of ours: what comes and goes is no more than that. Default 2,000. */
  readonly mostMentions?: number;
}

/** A watch set in memory and the version of the record up to which it holds every wallet, at least. */
export interface Watch {
  readonly set: WatchSet;
  readonly version: bigint;
}

/** A block and the watch set that it was searched with. */
export interface WatchedBlock extends SearchedBlock {
  readonly watch: Watch;
  /** The same block as a node shows it now, searched with another set. */
  readonly readAgain: (watch: Watch) => Promise<WatchedBlock>;
}

/** A search and the node whose answer was searched. */
type ShownSearch = Search & Pick<SearchedBlock, 'node'>;
type Searched = Pick<Search, 'candidates' | 'transactions'>;
type Found<Asked extends Searched> = Asked & { readonly finding: BlockFinding };
type Terms = ReadonlyMap<string, AssetTerms>;
type Rules = Pick<Ours, 'ataOf' | 'asset' | 'ownerChangeAllowed' | 'nestedIn'>;

/**
 * What a transaction brought to us; `nestedOf`: wallets of ours whose token accounts count as owners of other token accounts. Such a
 * transaction need not name the wallet.
 */
export type Judge = (transaction: ScannedTransaction, nestedOf?: readonly string[]) => Promise<BlockFinding>;

/** The judge for transactions in token accounts that may be nested in those of these wallets. */
export function withNested(judge: Judge, nestedOf: readonly string[]): Judge {
  return (transaction) => judge(transaction, nestedOf);
}

const EXPECTED_AT_FIRST = 100_000;
const FRESH_MS = 1_000;
const MOST_MENTIONS = 2_000;

/** Says what blocks mean for the wallets on record. One for a process: it holds the watch set. */
export class DepositMatcher {
  /** Which nodes showed what the blocks brought. */
  readonly showings = new Showings();
  readonly #ledger: Ledger;
  readonly #options: MatcherOptions;
  readonly #fresh: TtlCache<Watch>;
  readonly #record: RecordView;
  /** Each is the one before with what came in since, so that a version is never said of another set than it was read for. */
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

  /** The watch set, at most `freshMs` behind the record; the first call reads it whole. */
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
    // What comes in while the rows are read is asked for after that: it may be among them, or not.
    const version = await this.#ledger.watched.version();
    const set = new WatchSet(EXPECTED_AT_FIRST);
    for await (const address of this.#ledger.watched.stream()) set.add(address);
    return { set, version };
  }

  /** Forgets the watch set: the record is not the one that it was read from. */
  forget(): void {
    this.#fresh.clear();
    this.#current = null;
  }

  /**
   * What the first of these blocks brought, ready to be committed: as many of them as one commit may bring, at least one. Wallets that
   * come in meanwhile are searched for then. Nodes and other connections are asked now: the transaction that commits holds locks that
   * everybody waits for.
   */
  async match(blocks: readonly WatchedBlock[]): Promise<Matched<MatchedBlock>> {
    const watch = await this.watch();
    const rules = this.#rules(await this.#terms());
    const searched = await Promise.all(blocks.map((block) => this.#searchedWith(watch, block)));
    const searches = forOneCommit(searched, this.#options.mostMentions ?? MOST_MENTIONS);
    const taken = searched.slice(0, searches.length);
    const found = await find(searches, this.#record, rules);
    this.#note(found);
    const versions = searches.map((search) => search.watch.version);
    return {
      blocks: found.map(matchedBlock),
      watchVersion: lowest([watch.version, ...versions]),
      rematch: async (added, record) => {
        for (const { address } of added) watch.set.add(address);
        const again = taken.map((block) => this.#withAdded(block, added, watch.set));
        const foundAgain = await find(again, record, rules);
        this.#note(foundAgain);
        return foundAgain.map(matchedBlock);
      },
    };
  }

  /**
   * These blocks searched for the same wallets, so that in what they differ nodes differ: those on record when the first of them was
   * asked for. One too long to be held was searched while it came, perhaps before a wallet came in: whoever matches it asks for that.
   */
  async searchedAlike(blocks: readonly WatchedBlock[]): Promise<readonly WatchedBlock[]> {
    const watch = await this.watch();
    const searched = blocks.map((block) => {
      if (block.kept.kind === 'names') return block;
      const { candidates, transactions } = this.#search(block, block.kept.bytes, watch.set);
      return { ...block, candidates, transactions, watch };
    });
    const version = lowest([watch.version, ...searched.map((block) => block.watch.version)]);
    // After all searches: whatever they found beyond that version is on record by now.
    const { wallets } = await this.#ledger.watched.since(version);
    const newer = new Set(wallets.map(({ address }) => address));
    return searched.map((block) => ({
      ...block,
      candidates: block.candidates.filter((address) => !newer.has(address)),
      watch: { ...block.watch, version },
    }));
  }

  /** Each of these with what it brought to the wallets that are on record now. */
  async findings<Asked extends Searched>(searches: readonly Asked[]): Promise<readonly Found<Asked>[]> {
    const isEmpty = searches.every(({ candidates }) => candidates.length === 0);
    return find(searches, this.#record, this.#rules(isEmpty ? new Map() : await this.#terms()));
  }

  /**
   * Judges transactions one by one, all by the terms of now: what each brought to the wallets that are on record when it is judged.
   */
  async judge(): Promise<Judge> {
    const terms = await this.#terms();
    return async (transaction, nestedOf = []) => {
      const rules = { ...this.#rules(terms), ...nestedRule(terms, nestedOf) };
      const search = { candidates: [...addressesOf(transaction), ...nestedOf], transactions: [transaction] };
      return findingOf(search, await oursAmong([search], this.#record, rules));
    };
  }

  #note(found: readonly Found<ShownSearch>[]): void {
    for (const one of found) this.showings.note(one.node, one);
  }

  /** A block that was searched before the set was forgotten tells nothing of this record: it is searched again. */
  async #searchedWith(watch: Watch, block: WatchedBlock): Promise<WatchedBlock> {
    if (block.watch.set === watch.set) return block;
    const { kept } = block;
    const again =
      kept.kind === 'bytes'
        ? { ...block, ...this.#search(block, kept.bytes, watch.set), watch }
        : await block.readAgain(watch);
    return { ...again, header: block.header };
  }

  /** Throws Unavailable for one that must be read again: nobody may be asked for it now, and whoever matches it next asks. */
  #withAdded(block: WatchedBlock, added: readonly WatchedWallet[], set: WatchSet): ShownSearch {
    const { kept, header } = block;
    if (kept.kind === 'bytes') return { ...this.#search(block, kept.bytes, set), header };
    if (!added.some(({ address }) => kept.names.has(address))) return block;
    this.forget();
    const message = `block ${header.slot} must be read again: it names a wallet that came in while it was read`;
    throw new DomainError('Unavailable', message);
  }

  #search({ header, node }: WatchedBlock, bytes: Uint8Array, set: WatchSet): ShownSearch {
    const { maxTransactionVersion } = this.#options;
    return { ...searchBlock(bytes, header.slot, set, { name: node, maxTransactionVersion }), node };
  }

  #rules(terms: Terms): Rules {
    const { ownerChangeAllowed } = this.#options;
    return { ataOf: ataOrNone, asset: (asset) => terms.get(asset), ownerChangeAllowed };
  }

  /** SOL is among them from the first day. */
  async #terms(): Promise<Terms> {
    const rows: readonly AssetTerms[] = await this.#ledger.assets.list();
    const terms = new Map(rows.map((row) => [row.asset, row]));
    return terms.has(SOL) ? terms : terms.set(SOL, untouchedSol(await this.#options.minimumLamports()));
  }
}

/** The first of these as long as they name our wallets no oftener than `most`; the first block whatever it holds. */
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

/** Empty where there is none: a node may show anything as a mint. */
function ataOrNone(wallet: string, mint: string, program: string): string {
  try {
    return deriveAta(wallet, mint, program);
  } catch {
    return '';
  }
}

function matchedBlock({ header, finding }: Found<Search>): MatchedBlock {
  return { header, finding };
}

/** Each search with what its transactions brought to those of its candidates that are ours by the record. */
async function find<Asked extends Searched>(
  searches: readonly Asked[],
  record: RecordView,
  rules: Rules,
): Promise<readonly Found<Asked>[]> {
  const ours = await oursAmong(searches, record, rules);
  return searches.map((search) => ({ ...search, finding: findingOf(search, ours) }));
}

/** What the record says of all that these searches name. */
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
