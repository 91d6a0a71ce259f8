/** Four bytes of text as a 32-bit number, lowest first. The loops below use a literal: an export is slower. */
export const WORD_BYTES = 4;

const LOWEST_BITS = 0x01010101;
const HIGHEST_BITS = 0x80808080 | 0;

const QUOTES = 0x22222222;
const COMMAS = 0x2c2c2c2c;
/** With {@link EITHER_CASE}, a word of `]` is one of `}`. */
const CLOSES = 0x7d7d7d7d;
const EITHER_CASE = 0x20202020;

/** Not 0 if `word` contains a quote; {@link lowestMark} gives the first one. Marks above the lowest may be false. */
export function quoteMarksOf(word: number): number {
  return marksOf(word ^ QUOTES);
}

export function lowestMark(marks: number): number {
  return (31 - Math.clz32(marks & -marks)) >> 3;
}

/**
 * The first quote at or after `at`, like `JsonBytes.textEnd`, but without a check for the end of the text. Use it
 * only inside a block, where more bytes follow. Throws RangeError if there is none, and possibly if the text ends
 * within three bytes after it.
 */
export function quoteAfter(view: DataView, at: number): number {
  let next = at;
  for (;;) {
    const marks = marksOf(view.getInt32(next, true) ^ QUOTES);
    if (marks !== 0) return next + lowestMark(marks);
    next += 4;
  }
}

/**
 * The first `,`, `]` or `}` at or after `at`: the end of a scalar without white space after it (`JsonBytes.scalarEnd`
 * handles that). Use it as {@link quoteAfter}; throws as that does.
 */
export function scalarEndAfter(view: DataView, at: number): number {
  let next = at;
  for (;;) {
    const word = view.getInt32(next, true);
    const marks = marksOf(word ^ COMMAS) | marksOf((word | EITHER_CASE) ^ CLOSES);
    if (marks !== 0) return next + lowestMark(marks);
    next += 4;
  }
}

/** Marks of the bytes of `word` that are 0. */
function marksOf(word: number): number {
  return (word - LOWEST_BITS) & ~word & HIGHEST_BITS;
}
