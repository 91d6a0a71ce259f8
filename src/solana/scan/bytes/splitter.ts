import { isFields } from '../../../domain/operator-note.ts';
import { isWhiteSpace, Unreadable } from './json-bytes.ts';

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COMMA = 0x2c;
/** The only bit in which `{` and `[` differ, and `}` and `]`. */
const BRACKET_BIT = 0x20;
const OPEN_BRACKET = 0x5b;
const OPEN_BRACE = 0x7b;
const CLOSE_BRACE = 0x7d;

/** More bytes than one transaction has, or all that follows the transactions. */
const MAX_UNSPLIT_BYTES = 4 * 1_024 * 1_024;
/** More bytes than precede the transactions. */
const MAX_HEAD_BYTES = 64 * 1_024;

const TRANSACTIONS_START = /"transactions"\s*:\s*\[/;
const PLACEHOLDER_START = Buffer.from(
  '{"result":{"blockhash":"1","previousBlockhash":"1","parentSlot":0,"blockHeight":0,"blockTime":null,"transactions":[',
);
const PLACEHOLDER_END = Buffer.from(']}}');

/** A short answer: some of the `transactions`, in a placeholder block, or everything else, the `envelope`. */
export type BlockPart = { readonly transactions: Buffer } | { readonly envelope: Buffer };

/**
 * Splits a getBlock answer, as it arrives, into short answers that any block reader can read. The transactions come
 * in order, byte for byte; the envelope comes last, once. So only one piece is in memory. Throws {@link Unreadable} for
 * an answer that is not a block or is incomplete, and errors of `parts`.
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

  /** The pieces that end in the next part. */
  *push(part: Uint8Array): Generator<Buffer> {
    let rest = this.#stage === 'head' ? this.#head(part) : part;
    while (this.#stage === 'list' && rest.length > 0) {
      const { end, isListEnd: ended } = this.#listWalk.walk(rest, this.#pieceBytes - this.#pendingBytes);
      this.#hold(rest.subarray(0, end), this.#pieceBytes + MAX_UNSPLIT_BYTES);
      rest = rest.subarray(end);
      if (ended) {
        yield* this.#piece();
        this.#stage = 'tail';
      } else if (this.#pendingBytes >= this.#pieceBytes && this.#listWalk.isBetweenElements)
        yield* this.#piece();
    }
    if (this.#stage === 'tail') this.#hold(rest, MAX_UNSPLIT_BYTES);
  }

  envelope(): Buffer {
    if (this.#stage !== 'tail') throw new Unreadable(`it ends in its ${this.#stage}`);
    return Buffer.concat([...this.#envelope, ...this.#release()]);
  }

  #head(part: Uint8Array): Uint8Array {
    const head = Buffer.concat([...this.#release(), part]);
    const found = TRANSACTIONS_START.exec(head.toString('latin1', 0, MAX_HEAD_BYTES));
    if (found === null && head.length > MAX_HEAD_BYTES)
      throw new Unreadable('it begins with no transactions');
    const end = found === null ? head.length : found.index + found[0].length;
    if (found === null) this.#hold(head, MAX_HEAD_BYTES);
    else {
      if (!isHead(head.subarray(0, end)))
        throw new Unreadable('its first transactions are not those of its result');
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
      throw new Unreadable('a comma among its transactions is missing, or one too many');
    this.#isFirstPiece = false;
    yield Buffer.concat([PLACEHOLDER_START, elements, PLACEHOLDER_END]);
  }

  #hold(bytes: Uint8Array, maxBytes: number): void {
    this.#pendingBytes += bytes.length;
    if (this.#pendingBytes > maxBytes) throw new Unreadable(`it exceeds ${maxBytes} bytes without an end`);
    this.#pending.push(bytes);
  }

  #release(): readonly Uint8Array[] {
    const pending = this.#pending;
    this.#pending = [];
    this.#pendingBytes = 0;
    return pending;
  }
}

/** Walks the elements of a JSON list that arrives in parts; it handles backslashes. */
class ListWalk {
  #depth = 0;
  #isText = false;
  #isEscaped = false;

  get isBetweenElements(): boolean {
    return this.#depth === 0 && !this.#isText;
  }

  /** To the end of the first object or list after `least` bytes, or the end of the whole list, or of the part. */
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

  /** The end of the current text; after the end of the part if the text does not end in it. */
  #textEnd(part: Uint8Array, from: number): number {
    let at = this.#isEscaped ? from + 1 : from;
    for (; at < part.length && part[at] !== QUOTE; at += 1) if (part[at] === BACKSLASH) at += 1;
    this.#isText = at >= part.length;
    this.#isEscaped = at > part.length;
    return at;
  }
}

/** Whether the list that begins after `head` is `result.transactions`, and not a deeper one. */
function isHead(head: Buffer): boolean {
  try {
    const answer: unknown = JSON.parse(Buffer.concat([head, PLACEHOLDER_END]).toString());
    const result = isFields(answer) ? answer['result'] : null;
    return isFields(result) && Array.isArray(result['transactions']);
  } catch {
    return false;
  }
}

function skipWhiteSpace(bytes: Buffer, from: number): number {
  let at = from;
  while (at < bytes.length && isWhiteSpace(bytes[at] as number)) at += 1;
  return at;
}
