import { isFields } from '../../../domain/operator-note.ts';
import { isBlank, Unreadable } from './json-bytes.ts';

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COMMA = 0x2c;
/** The only bit in which `{` and `[` differ, and `}` and `]`. */
const SQUARE = 0x20;
const OPEN_SQUARE = 0x5b;
const OPEN = 0x7b;
const CLOSE = 0x7d;

/** More bytes than one transaction has, or all that follows the transactions. */
const LONGEST_BYTES = 4 * 1_024 * 1_024;
/** More bytes than precede the transactions. */
const HEAD_BYTES = 64 * 1_024;

const LIST = /"transactions"\s*:\s*\[/;
const BEFORE = Buffer.from(
  '{"result":{"blockhash":"1","previousBlockhash":"1","parentSlot":0,"blockHeight":0,"blockTime":null,"transactions":[',
);
const BEHIND = Buffer.from(']}}');

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
  for await (const part of parts) for (const transactions of splitter.take(part)) yield { transactions };
  yield { envelope: splitter.envelope() };
}

class Splitter {
  readonly #pieceBytes: number;
  #stage: 'head' | 'list' | 'tail' = 'head';
  readonly #list = new ListWalk();
  readonly #envelope: Uint8Array[] = [];
  #isFirst = true;
  #pending: Uint8Array[] = [];
  #size = 0;

  constructor(pieceBytes: number) {
    this.#pieceBytes = pieceBytes;
  }

  /** The pieces that end in the next part. */
  *take(part: Uint8Array): Generator<Buffer> {
    let rest = this.#stage === 'head' ? this.#head(part) : part;
    while (this.#stage === 'list' && rest.length > 0) {
      const { end, ended } = this.#list.walk(rest, this.#pieceBytes - this.#size);
      this.#hold(rest.subarray(0, end), this.#pieceBytes + LONGEST_BYTES);
      rest = rest.subarray(end);
      if (ended) {
        yield* this.#piece();
        this.#stage = 'tail';
      } else if (this.#size >= this.#pieceBytes && this.#list.isBetween) yield* this.#piece();
    }
    if (this.#stage === 'tail') this.#hold(rest, LONGEST_BYTES);
  }

  envelope(): Buffer {
    if (this.#stage !== 'tail') throw new Unreadable(`it ends in its ${this.#stage}`);
    return Buffer.concat([...this.#envelope, ...this.#release()]);
  }

  #head(part: Uint8Array): Uint8Array {
    const begun = Buffer.concat([...this.#release(), part]);
    const found = LIST.exec(begun.toString('latin1', 0, HEAD_BYTES));
    if (found === null && begun.length > HEAD_BYTES) throw new Unreadable('it begins with no transactions');
    const end = found === null ? begun.length : found.index + found[0].length;
    if (found === null) this.#hold(begun, HEAD_BYTES);
    else {
      if (!isHead(begun.subarray(0, end)))
        throw new Unreadable('its first transactions are not those of its result');
      this.#envelope.push(begun.subarray(0, end));
      this.#stage = 'list';
    }
    return begun.subarray(end);
  }

  *#piece(): Generator<Buffer> {
    const bytes = Buffer.concat(this.#release());
    const first = behindBlanks(bytes, 0);
    if (first === bytes.length) return;
    const hasComma = bytes[first] === COMMA;
    const elements = bytes.subarray(hasComma ? behindBlanks(bytes, first + 1) : first);
    if (hasComma === this.#isFirst || elements.length === 0)
      throw new Unreadable('a comma among its transactions is missing, or one too many');
    this.#isFirst = false;
    yield Buffer.concat([BEFORE, elements, BEHIND]);
  }

  #hold(bytes: Uint8Array, most: number): void {
    this.#size += bytes.length;
    if (this.#size > most) throw new Unreadable(`it exceeds ${most} bytes without an end`);
    this.#pending.push(bytes);
  }

  #release(): readonly Uint8Array[] {
    const pending = this.#pending;
    this.#pending = [];
    this.#size = 0;
    return pending;
  }
}

/** Walks the elements of a JSON list that arrives in parts; it handles backslashes. */
class ListWalk {
  #depth = 0;
  #isText = false;
  #isEscaped = false;

  get isBetween(): boolean {
    return this.#depth === 0 && !this.#isText;
  }

  /** To the end of the first object or list after `least` bytes, or the end of the whole list, or of the part. */
  walk(part: Uint8Array, least: number): { readonly end: number; readonly ended: boolean } {
    for (let at = this.#isText ? this.#textEnd(part, 0) + 1 : 0; at < part.length; at += 1) {
      const byte = part[at] as number;
      if (byte === QUOTE) at = this.#textEnd(part, at + 1);
      else if (byte >= OPEN_SQUARE && (byte | SQUARE) === OPEN) this.#depth += 1;
      else if (byte >= OPEN_SQUARE && (byte | SQUARE) === CLOSE) {
        if (this.#depth === 0) return { end: at, ended: true };
        this.#depth -= 1;
        if (this.#depth === 0 && at + 1 >= least) return { end: at + 1, ended: false };
      }
    }
    return { end: part.length, ended: false };
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
    const answer: unknown = JSON.parse(Buffer.concat([head, BEHIND]).toString());
    const result = isFields(answer) ? answer['result'] : null;
    return isFields(result) && Array.isArray(result['transactions']);
  } catch {
    return false;
  }
}

function behindBlanks(bytes: Buffer, from: number): number {
  let at = from;
  while (at < bytes.length && isBlank(bytes[at] as number)) at += 1;
  return at;
}
