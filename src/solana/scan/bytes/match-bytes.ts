import type { BlockHeader } from '../../../domain/deposit.ts';
import { MAX_SIGNATURE_LENGTH, MIN_SIGNATURE_LENGTH } from '../../rpc/node-text.ts';
import { headerFields, headerOf } from '../block.ts';
import { listIn } from '../listing.ts';
import { type ByteRange, JsonBytes, type OnText, Unreadable } from './json-bytes.ts';
import { TransactionBytes } from './transaction-bytes.ts';
import { Lookups, type WatchSet } from './watch-set.ts';

export type BlockScan =
  /** The scan is not reliable: parse the whole block, and treat each of its wallets as a candidate. */
  | { readonly mustParse: true }
  | {
      readonly mustParse: false;
      readonly header: Omit<BlockHeader, 'slot'>;
      /** The signatures of its transactions; see `listIn`. */
      readonly list: Uint8Array;
      /** Each distinct text in a transaction that the watch set accepts as a wallet of ours. */
      readonly candidates: readonly string[];
      /** The transactions with a candidate, each as the byte range of its JSON object, in order. */
      readonly hitTransactions: readonly ByteRange[];
    };

const BACKSLASH = 0x5c;

/**
 * Searches a `getBlock` answer (transactionDetails `accounts` or `full`, encoding `jsonParsed` or `json`) for watched
 * wallets without parsing it. Every wallet that a parse would find in a transaction is among the candidates, or
 * `mustParse` is true. `mustParse` is true for an answer with a backslash, because text can then be escaped. It is
 * also true if a transaction lacks plain-text account keys, meta, or one of its token balance lists. All possible
 * wallets are added to `names`.
 */
export function scanBlockBytes(bytes: Uint8Array, watched: WatchSet, names?: WatchSet): BlockScan {
  if (bytes.includes(BACKSLASH)) return { mustParse: true };
  try {
    return new AnswerScan(bytes, watched, names).scan();
  } catch (error) {
    if (error instanceof Unreadable || error instanceof RangeError || error instanceof SyntaxError)
      return { mustParse: true };
    throw error;
  }
}

class AnswerScan {
  readonly #bytes: Uint8Array;
  readonly #lookups: Lookups;
  readonly #json: JsonBytes;
  readonly #reader: TransactionBytes;
  readonly #transactions: ByteRange[] = [];
  readonly #signatures: ByteRange[] = [];
  readonly #fields: Record<string, unknown> = {};

  constructor(bytes: Uint8Array, watched: WatchSet, names?: WatchSet) {
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
    const { data: fields } = headerFields.safeParse(this.#fields);
    if (fields === undefined) throw new Unreadable('a field of its header is absent or malformed');
    return { mustParse: false, header: headerOf(fields), list, ...this.#hits() };
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
      if (Object.hasOwn(headerFields.shape, name)) this.#fields[name] = JSON.parse(json.text(value, next));
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

  /** Only texts of one signature's length are accepted, so that two different lists never produce the same bytes. */
  #sign(start: number, end: number): void {
    if (this.#signatures.length > this.#transactions.length) return;
    const length = end - start;
    if (length < MIN_SIGNATURE_LENGTH || length > MAX_SIGNATURE_LENGTH)
      throw new Unreadable(`the text at byte ${start} is no signature`);
    this.#signatures.push({ start, end });
  }

  /** Found texts and transactions are both in byte order; texts outside transactions are ignored. */
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
