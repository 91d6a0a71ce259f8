import { isBlockTime } from '../../../domain/block-time.ts';
import type { BlockHeader } from '../../../domain/deposit.ts';
import { HASH_TEXT, LONGEST_SIGNATURE, SHORTEST_SIGNATURE } from '../../rpc/node-text.ts';
import { listIn } from '../listing.ts';
import { JsonBytes, type OnText, Unreadable } from './json-bytes.ts';
import { type ByteRange, Lookups } from './lookup-tables.ts';
import type { NameFilter } from './name-filter.ts';
import { TransactionBytes } from './transaction-bytes.ts';
import type { WatchSet } from './watch-set.ts';

/** What the bytes of a block tell without a parse. */
export type BlockScan =
  /** Nothing that can be relied on: parse the whole, and take each of its wallets for a candidate. */
  | { readonly mustParse: true }
  | {
      readonly mustParse: false;
      readonly header: Omit<BlockHeader, 'slot'>;
      /** The names of its transactions; see `listIn`. */
      readonly list: Uint8Array;
      /** Each text in a transaction that the watch set takes for a wallet of ours, once. */
      readonly candidates: readonly string[];
      /** The transactions that hold a candidate, each as the bytes of its JSON object, in their order. */
      readonly hitTransactions: readonly ByteRange[];
    };

const BACKSLASH = 0x5c;
const INTEGER = /^(0|[1-9][0-9]{0,14})$/;
const QUOTED = /^"(.*)"$/;
const HEADER_FIELDS = ['blockhash', 'parentSlot', 'previousBlockhash', 'blockHeight', 'blockTime'] as const;

type HeaderField = (typeof HEADER_FIELDS)[number];

function isHeaderField(name: string): name is HeaderField {
  return HEADER_FIELDS.some((field) => field === name);
}

/**
 * Looks for watched wallets in the answer to a `getBlock` (transactionDetails `accounts` or `full`, encoding `jsonParsed` or `json`)
 * without parsing it. Every wallet that a parse would find in a transaction is among the candidates, or `mustParse` is true: for an
 * answer with a backslash in it, as text may then be written in more than one way, and for any in which a transaction lacks
 * what names its wallets in plain text: its keys, meta, both lists of token balances. All that may be a wallet is added to `names`.
 */
export function scanBlockBytes(bytes: Uint8Array, watched: WatchSet, names?: NameFilter): BlockScan {
  if (bytes.includes(BACKSLASH)) return { mustParse: true };
  try {
    return new AnswerScan(bytes, watched, names).scan();
  } catch (error) {
    if (error instanceof Unreadable || error instanceof RangeError) return { mustParse: true };
    throw error;
  }
}

class AnswerScan {
  readonly #bytes: Uint8Array;
  readonly #lookups: Lookups;
  readonly #json: JsonBytes;
  readonly #reader: TransactionBytes;
  readonly #transactions: ByteRange[] = [];
  /** The first of each transaction. */
  readonly #signatures: ByteRange[] = [];
  readonly #fields = new Map<HeaderField, string | null>();

  constructor(bytes: Uint8Array, watched: WatchSet, names?: NameFilter) {
    const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    const lookups = new Lookups(watched, view);
    this.#bytes = bytes;
    this.#lookups = lookups;
    this.#json = new JsonBytes(view);
    const ask: OnText = (start, end) => lookups.ask(start, end);
    const note: OnText = (start, end) => {
      names?.addBytes(view, start, end);
      lookups.ask(start, end);
    };
    this.#reader = new TransactionBytes(this.#json, names === undefined ? ask : note, (start, end) =>
      this.#sign(start, end),
    );
  }

  scan(): BlockScan {
    const json = this.#json;
    let isShown = false;
    json.object(json.spaces(0), (value, name) => {
      if (name !== 'result') return json.value(value);
      isShown = true;
      return this.#block(value);
    });
    if (!isShown) throw new Unreadable('no result');
    const list = listIn(this.#bytes, this.#signatures);
    return { mustParse: false, header: headerOf(this.#fields), list, ...this.#hits() };
  }

  #block(at: number): number {
    const json = this.#json;
    let isListed = false;
    const end = json.object(at, (value, name) => {
      if (name === 'transactions') {
        isListed = true;
        return json.array(value, (transaction) => this.#transaction(transaction));
      }
      const next = json.value(value);
      if (isHeaderField(name)) this.#fields.set(name, this.#scalar(value, next));
      return next;
    });
    if (!isListed) throw new Unreadable('no list of transactions');
    return end;
  }

  #transaction(start: number): number {
    const end = this.#reader.transaction(start);
    if (this.#signatures.length === this.#transactions.length)
      throw new Unreadable('a transaction without a name');
    this.#transactions.push({ start, end });
    return end;
  }

  /** No text as long as one signature is two of them: so a list of names is that of no other transactions. */
  #sign(start: number, end: number): void {
    if (this.#signatures.length > this.#transactions.length) return;
    const length = end - start;
    if (length < SHORTEST_SIGNATURE || length > LONGEST_SIGNATURE)
      throw new Unreadable(`the text at byte ${start} is no signature`);
    this.#signatures.push({ start, end });
  }

  /** The text of a string or number; null for null. */
  #scalar(start: number, end: number): string | null {
    const text = this.#json.text(start, end);
    return text === 'null' ? null : text.replace(QUOTED, '$1');
  }

  /** Finds and transactions are both in order of their bytes; what was found outside transactions is nobody's. */
  #hits(): { candidates: readonly string[]; hitTransactions: readonly ByteRange[] } {
    const candidates = new Set<string>();
    const hitTransactions = new Set<ByteRange>();
    let index = 0;
    for (const found of this.#lookups.found()) {
      while ((this.#transactions[index]?.end ?? Number.POSITIVE_INFINITY) <= found.start) index += 1;
      const transaction = this.#transactions[index];
      if (transaction === undefined || found.start < transaction.start) continue;
      candidates.add(this.#json.text(found.start, found.end));
      hitTransactions.add(transaction);
    }
    return { candidates: [...candidates], hitTransactions: [...hitTransactions] };
  }
}

/** Throws {@link Unreadable} where a field is absent, no integer or no hash, or the height is null: then only a parse can judge it. */
function headerOf(fields: ReadonlyMap<HeaderField, string | null>): Omit<BlockHeader, 'slot'> {
  const text = (name: HeaderField): string => {
    const value = fields.get(name);
    if (value === undefined || value === null) throw new Unreadable(`no ${name}`);
    return value;
  };
  const hash = (name: HeaderField): string => {
    if (!HASH_TEXT.test(text(name))) throw new Unreadable(`${name} is no hash`);
    return text(name);
  };
  const integer = (name: HeaderField): bigint => {
    if (!INTEGER.test(text(name))) throw new Unreadable(`${name} is no integer`);
    return BigInt(text(name));
  };
  const time = (fields.get('blockTime') ?? null) === null ? null : integer('blockTime');
  return {
    blockhash: hash('blockhash'),
    parentSlot: integer('parentSlot'),
    previousBlockhash: hash('previousBlockhash'),
    height: integer('blockHeight'),
    time: time !== null && isBlockTime(time) ? time : null,
  };
}
