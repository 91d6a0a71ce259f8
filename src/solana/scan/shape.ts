import { SHORTEST_ADDRESS } from './fingerprint.ts';
import { isScalarStart, type OnText, QUOTES } from './json-bytes.ts';
import { lowestMark, marksOf, WORD_BYTES, wordOf } from './words.ts';

/** A key with its colon, a text, or another scalar, in JSON without a backslash. */
const TOKENS = /"[^"]*"\s*:|"([^"]*)"|[^\s,:[\]{}"]+/g;

const COMMAS = wordOf(0x2c);
/** With {@link EITHER_CASE}, a word of `]` is one of `}`. */
const CLOSES = wordOf(0x7d);
const EITHER_CASE = wordOf(0x20);

/** What comes after bytes that are the same in every value of a shape. */
const END = 0;
const OTHER_SCALAR = 1;
const TEXT = 2;
/** A text as long as an address in the example, and so most likely here. */
const ADDRESS = 3;
const TOLD = 4;

/**
 * A JSON value without its scalars, learned from one example. Where the bytes between scalars are the same, so are keys, order and
 * nesting; and to see that bytes repeat takes half the time that it takes to walk them.
 */
export class Shape {
  /** For each run of equal bytes: how many words, the mask of the last, what follows; then the words. */
  readonly #code: Int32Array;

  /** The shape of `example`; `told` are the places in it of texts that {@link read} is to tell of. */
  constructor(example: Uint8Array, told: ReadonlySet<number>) {
    const code: number[] = [];
    let from = 0;
    for (const token of Buffer.from(example).toString('latin1').matchAll(TOKENS)) {
      const [all, text] = token;
      if (all.endsWith(':')) continue;
      const at = token.index + (text === undefined ? 0 : 1);
      const end = at + (text ?? all).length;
      code.push(...run(example.subarray(from, at), told.has(at) ? TOLD : kindOf(text)));
      from = end;
    }
    code.push(...run(example.subarray(from), END));
    this.#code = Int32Array.from(code);
  }

  /**
   * The position after the value at `at`, or -1 where it is not of this shape: some of its texts may have been told of by then.
   * Throws RangeError where the text ends in it, or hardly after it.
   */
  read(view: DataView, at: number, onText: OnText): number {
    const code = this.#code;
    let next = at;
    for (let step = 0; ; ) {
      const mask = code[step + 1] as number;
      const follows = code[step + 2] as number;
      const last = step + 2 + (code[step] as number);
      for (step += 3; step < last; step += 1) {
        if (view.getInt32(next, true) !== code[step]) return -1;
        next += WORD_BYTES;
      }
      if (((view.getInt32(next, true) ^ (code[step] as number)) & mask) !== 0) return -1;
      step += 1;
      next += bytesOf(mask);
      if (follows === END) return next;
      if (follows >= ADDRESS) {
        const end = addressEnd(view, next);
        if (follows === TOLD) onText(next, end);
        next = end;
        continue;
      }
      if (follows === OTHER_SCALAR) {
        if (!isScalarStart(view.getUint8(next))) return -1;
        let marks = endMarksOf(view.getInt32(next, true));
        while (marks === 0) {
          next += WORD_BYTES;
          marks = endMarksOf(view.getInt32(next, true));
        }
        next += lowestMark(marks);
        continue;
      }
      let marks = marksOf(view.getInt32(next, true) ^ QUOTES);
      while (marks === 0) {
        next += WORD_BYTES;
        marks = marksOf(view.getInt32(next, true) ^ QUOTES);
      }
      next += lowestMark(marks);
    }
  }
}

function kindOf(text: string | undefined): number {
  if (text === undefined) return OTHER_SCALAR;
  return text.length < SHORTEST_ADDRESS ? TEXT : ADDRESS;
}

/** The closing quote of a text that most likely is an address: for as many bytes as the shortest has, one question serves. */
function addressEnd(view: DataView, at: number): number {
  const early =
    marksOf(view.getInt32(at, true) ^ QUOTES) |
    marksOf(view.getInt32(at + 4, true) ^ QUOTES) |
    marksOf(view.getInt32(at + 8, true) ^ QUOTES) |
    marksOf(view.getInt32(at + 12, true) ^ QUOTES) |
    marksOf(view.getInt32(at + 16, true) ^ QUOTES) |
    marksOf(view.getInt32(at + 20, true) ^ QUOTES) |
    marksOf(view.getInt32(at + 24, true) ^ QUOTES) |
    marksOf(view.getInt32(at + 28, true) ^ QUOTES);
  let next = early === 0 ? at + SHORTEST_ADDRESS : at;
  let marks = marksOf(view.getInt32(next, true) ^ QUOTES);
  while (marks === 0) {
    next += WORD_BYTES;
    marks = marksOf(view.getInt32(next, true) ^ QUOTES);
  }
  return next + lowestMark(marks);
}

/** Marks of the bytes that may stand next to a scalar in an object or array; white space before them passes for a part of it. */
function endMarksOf(word: number): number {
  return marksOf(word ^ COMMAS) | marksOf((word | EITHER_CASE) ^ CLOSES);
}

function bytesOf(mask: number): number {
  return WORD_BYTES - (Math.clz32(mask) >> 3);
}

function run(bytes: Uint8Array, follows: number): readonly number[] {
  const padded = new DataView(new ArrayBuffer(Math.ceil(bytes.length / WORD_BYTES) * WORD_BYTES));
  for (const [at, byte] of bytes.entries()) padded.setUint8(at, byte);
  const words = Array.from({ length: padded.byteLength / WORD_BYTES }, (_, index) =>
    padded.getInt32(index * WORD_BYTES, true),
  );
  const rest = bytes.length % WORD_BYTES;
  return [words.length, rest === 0 ? -1 : 2 ** (8 * rest) - 1, follows, ...words];
}
