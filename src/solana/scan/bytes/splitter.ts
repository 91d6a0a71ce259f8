import { isJsonObject } from '../../rpc/node-text.ts';
import { isWhiteSpace, Unreadable } from './json-bytes.ts';

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COMMA = 0x2c;
/** The only bit in which `{` and `[` differ, and `}` and `]`. */
const BRACKET_BIT = 0x20;
const OPEN_BRACKET = 0x5b;
const OPEN_BRACE = 0x7b;
const CLOSE_BRACE = 0x7d;

/** Limit on one transaction, and on everything after the list of transactions. */
const MAX_UNSPLIT_BYTES = 4 * 1_024 * 1_024;
/** Limit on everything before the list of transactions. */
const MAX_HEAD_BYTES = 64 * 1_024;

const TRANSACTIONS_START = /"transactions"\s*:\s*\[/;
const PLACEHOLDER_START = Buffer.from(
  '{"result":{"blockhash":"1","previousBlockhash":"1","parentSlot":0,"blockHeight":0,"blockTime":null,"transactions":[',
);
const PLACEHOLDER_END = Buffer.from(']}}');

/**
 * A getBlock answer with some of the `transactions` in a placeholder block, or with everything else: the `envelope`.
 */
export type BlockPart = { readonly transactions: Buffer } | { readonly envelope: Buffer };

/**
 * Splits a getBlock answer into short answers while it is received, so that only one piece is in memory. The
 * transactions are unchanged and in order; the envelope is the last piece. Throws {@link Unreadable} for an answer that
 * is not a block or is incomplete, and errors of `parts`.
 */
export async function* splitBlock(
  parts: AsyncIterable<Uint8Array>,
  pieceBytes: number,
): AsyncGenerator<BlockPart> {
  const splitter = new Splitter(pieceBytes);
  for await (const part of parts) for (const transactions of splitter.push(part)) yield { transactions };
  yield { envelope: splitter.envelope() };
}

class Splitter {
  readonly #pieceBytes: number;
  #stage: 'head' | 'list' | 'tail' = 'head';
  readonly #listWalk = new ListWalk();
  readonly #envelope: Uint8Array[] = [];
  #isFirstPiece = true;
  #pending: Uint8Array[] = [];
  #pendingBytes = 0;

  constructor(pieceBytes: number) {
    this.#pieceBytes = pieceBytes;
  }

  /** Adds the next part of the answer. Yields the pieces that end in it. */
  *push(part: Uint8Array): Generator<Buffer> {
    let rest = this.#stage === 'head' ? this.#head(part) : part;
    while (this.#stage === 'list' && rest.length > 0) {
      const { end, isListEnd } = this.#listWalk.walk(rest, this.#pieceBytes - this.#pendingBytes);
      this.#hold(rest.subarray(0, end), this.#pieceBytes + MAX_UNSPLIT_BYTES);
      rest = rest.subarray(end);
      if (isListEnd) {
        yield* this.#piece();
        this.#stage = 'tail';
      } else if (this.#pendingBytes >= this.#pieceBytes && this.#listWalk.isBetweenElements)
        yield* this.#piece();
    }
    if (this.#stage === 'tail') this.#hold(rest, MAX_UNSPLIT_BYTES);
  }

  envelope(): Buffer {
    if (this.#stage === 'head') throw new Unreadable('the answer ends before its list of transactions');
    if (this.#stage === 'list') throw new Unreadable('the answer ends inside its list of transactions');
    return Buffer.concat([...this.#envelope, ...this.#release()]);
  }

  #head(part: Uint8Array): Uint8Array {
    const head = Buffer.concat([...this.#release(), part]);
    const found = TRANSACTIONS_START.exec(head.toString('latin1', 0, MAX_HEAD_BYTES));
    if (found === null && head.length > MAX_HEAD_BYTES)
      throw new Unreadable(`the first ${MAX_HEAD_BYTES} bytes of the answer contain no list of transactions`);
    const end = found === null ? head.length : found.index + found[0].length;
    if (found === null) this.#hold(head, MAX_HEAD_BYTES);
    else {
      if (!isHead(head.subarray(0, end)))
        throw new Unreadable('the first list of transactions is not result.transactions');
      this.#envelope.push(head.subarray(0, end));
      this.#stage = 'list';
    }
    return head.subarray(end);
  }

  *#piece(): Generator<Buffer> {
    const bytes = Buffer.concat(this.#release());
    const first = skipWhiteSpace(bytes, 0);
    if (first === bytes.length) return;
    const hasComma = bytes[first] === COMMA;
    const elements = bytes.subarray(hasComma ? skipWhiteSpace(bytes, first + 1) : first);
    if (hasComma === this.#isFirstPiece || elements.length === 0)
      throw new Unreadable('the commas between its transactions are not valid JSON');
    this.#isFirstPiece = false;
    yield Buffer.concat([PLACEHOLDER_START, elements, PLACEHOLDER_END]);
  }

  #hold(bytes: Uint8Array, maxBytes: number): void {
    this.#pendingBytes += bytes.length;
    if (this.#pendingBytes > maxBytes) throw new Unreadable(`a part of the answer exceeds ${maxBytes} bytes`);
    this.#pending.push(bytes);
  }

  #release(): readonly Uint8Array[] {
    const pending = this.#pending;
    this.#pending = [];
    this.#pendingBytes = 0;
    return pending;
  }
}

/** Finds the ends of elements in a JSON list that is received in parts. Strings can contain backslashes. */
class ListWalk {
  #depth = 0;
  #isText = false;
  #isEscaped = false;

  get isBetweenElements(): boolean {
    return this.#depth === 0 && !this.#isText;
  }

  /**
   * Walks to the end of the first element (object or array) that ends after at least `minBytes` bytes of the part; or
   * to the end of the list, or of the part. `end`: the position after it.
   */
  walk(part: Uint8Array, minBytes: number): { readonly end: number; readonly isListEnd: boolean } {
    for (let at = this.#isText ? this.#textEnd(part, 0) + 1 : 0; at < part.length; at += 1) {
      const byte = part[at] as number;
      if (byte === QUOTE) at = this.#textEnd(part, at + 1);
      else if (byte >= OPEN_BRACKET && (byte | BRACKET_BIT) === OPEN_BRACE) this.#depth += 1;
      else if (byte >= OPEN_BRACKET && (byte | BRACKET_BIT) === CLOSE_BRACE) {
        if (this.#depth === 0) return { end: at, isListEnd: true };
        this.#depth -= 1;
        if (this.#depth === 0 && at + 1 >= minBytes) return { end: at + 1, isListEnd: false };
      }
    }
    return { end: part.length, isListEnd: false };
  }

  /** The position of the closing quote; at or after the end of the part if the string does not end in it. */
  #textEnd(part: Uint8Array, from: number): number {
    let at = this.#isEscaped ? from + 1 : from;
    for (; at < part.length && part[at] !== QUOTE; at += 1) if (part[at] === BACKSLASH) at += 1;
    this.#isText = at >= part.length;
    this.#isEscaped = at > part.length;
    return at;
  }
}

/** True if the list that begins after `head` is `result.transactions` and not a list in another object. */
function isHead(head: Buffer): boolean {
  try {
    const answer: unknown = JSON.parse(Buffer.concat([head, PLACEHOLDER_END]).toString());
    const result = isJsonObject(answer) ? answer['result'] : null;
    return isJsonObject(result) && Array.isArray(result['transactions']);
  } catch {
    return false;
  }
}

function skipWhiteSpace(bytes: Buffer, from: number): number {
  let at = from;
  while (at < bytes.length && isWhiteSpace(bytes[at] as number)) at += 1;
  return at;
}
