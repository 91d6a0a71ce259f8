import type { BlockHeader } from '../../../domain/deposit.ts';
import { MAX_SIGNATURE_LENGTH, MIN_SIGNATURE_LENGTH } from '../../rpc/node-text.ts';
import { headerFields, headerOf } from '../block.ts';
import { signatureListAt } from '../listing.ts';
import { type ByteRange, JsonBytes, type OnText, Unreadable } from './json-bytes.ts';
import { TransactionBytes } from './transaction-bytes.ts';
import { Lookups, type WatchSet } from './watch-set.ts';

export type BlockScan =
  /** The bytes have an unexpected form: the answer must be parsed, and each address in it looked up. */
  | { readonly mustParse: true }
  | {
      readonly mustParse: false;
      readonly header: Omit<BlockHeader, 'slot'>;
      /** The signatures of the block's transactions; see `signatureListOf`. */
      readonly signatureList: Uint8Array;
      /** Distinct addresses in transactions that are in the watch set. A few are false positives. */
      readonly candidates: readonly string[];
      /** Byte ranges of the JSON objects of the transactions with a candidate, ascending. */
      readonly hitTransactions: readonly ByteRange[];
    };

const BACKSLASH = 0x5c;

/**
 * Searches a `getBlock` answer (transactionDetails `accounts` or `full`, encoding `jsonParsed` or `json`) for watched
 * wallets without parsing it. Either the candidates include every watched wallet that a parse would find, or
 * `mustParse` is true. That is so for an answer with a backslash, because text can then be escaped. It is also so if a
 * transaction lacks account keys in plain text, meta, or a list of token balances. Adds every possible wallet to
 * `seenAddresses`.
 */
export function scanBlockBytes(bytes: Uint8Array, watched: WatchSet, seenAddresses?: WatchSet): BlockScan {
  if (bytes.includes(BACKSLASH)) return { mustParse: true };
  try {
    return new AnswerScan(bytes, watched, seenAddresses).scan();
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
    const ask: OnText = (start, end) => lookups.add(start, end);
    const note: OnText = (start, end) => {
      names?.addBytes(view, start, end);
      lookups.add(start, end);
    };
    this.#reader = new TransactionBytes(this.#json, names === undefined ? ask : note, (start, end) =>
      this.#addSignature(start, end),
    );
  }

  scan(): BlockScan {
    const json = this.#json;
    let hasResult = false;
    json.object(json.spaces(0), (value, name) => {
      if (name !== 'result') return json.value(value);
      hasResult = true;
      return this.#block(value);
    });
    if (!hasResult) throw new Unreadable('the answer has no result');
    const list = signatureListAt(this.#bytes, this.#signatures);
    const { data: fields } = headerFields.safeParse(this.#fields);
    if (fields === undefined) throw new Unreadable('a field of the block header is absent or malformed');
    return { mustParse: false, header: headerOf(fields), signatureList: list, ...this.#hits() };
  }

  #block(at: number): number {
    const json = this.#json;
    let hasTransactions = false;
    const end = json.object(at, (value, name) => {
      if (name === 'transactions') {
        hasTransactions = true;
        return json.array(value, (transaction) => this.#transaction(transaction));
      }
      const next = json.value(value);
      if (Object.hasOwn(headerFields.shape, name)) this.#fields[name] = JSON.parse(json.text(value, next));
      return next;
    });
    if (!hasTransactions) throw new Unreadable('the block has no list of transactions');
    return end;
  }

  #transaction(start: number): number {
    const end = this.#reader.transaction(start);
    if (this.#signatures.length === this.#transactions.length)
      throw new Unreadable(`the transaction at byte ${start} has no signature`);
    this.#transactions.push({ start, end });
    return end;
  }

  /**
   * Records the first signature of a transaction. Text that does not have the length of one signature is refused, so
   * that two different lists never produce the same bytes.
   */
  #addSignature(start: number, end: number): void {
    if (this.#signatures.length > this.#transactions.length) return;
    const length = end - start;
    if (length < MIN_SIGNATURE_LENGTH || length > MAX_SIGNATURE_LENGTH)
      throw new Unreadable(`the text at byte ${start} is not a signature`);
    this.#signatures.push({ start, end });
  }

  /**
   * One pass suffices, because matches and transactions are both in byte order. Matches outside transactions are
   * ignored.
   */
  #hits(): { candidates: readonly string[]; hitTransactions: readonly ByteRange[] } {
    const candidates = new Set<string>();
    const hitTransactions = new Set<ByteRange>();
    let index = 0;
    for (const found of this.#lookups.matches()) {
      while ((this.#transactions[index]?.end ?? Number.POSITIVE_INFINITY) <= found.start) index += 1;
      const transaction = this.#transactions[index];
      if (transaction === undefined || found.start < transaction.start) continue;
      candidates.add(this.#json.text(found.start, found.end));
      hitTransactions.add(transaction);
    }
    return { candidates: [...candidates], hitTransactions: [...hitTransactions] };
  }
}
