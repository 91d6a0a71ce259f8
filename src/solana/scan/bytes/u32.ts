/** Four bytes of text at once, as a number of 32 bits, the first byte lowest. The loops below have it as a literal: an export costs them. */
export const WORD_BYTES = 4;

const LOWEST_BITS = 0x01010101;
const HIGHEST_BITS = 0x80808080 | 0;

const QUOTES = 0x22222222;
const COMMAS = 0x2c2c2c2c;
/** With {@link EITHER_CASE}, a word of `]` is one of `}`. */
const CLOSES = 0x7d7d7d7d;
const EITHER_CASE = 0x20202020;

/** Not 0 where a byte of `word` is a quote; then {@link lowestMark} is the place of the first. Marks above the lowest may be false. */
export function quoteMarksOf(word: number): number {
  return marksOf(word ^ QUOTES);
}

/** The place, 0 to 3, of the byte that has the lowest mark. */
export function lowestMark(marks: number): number {
  return (31 - Math.clz32(marks & -marks)) >> 3;
}

/**
 * The first quote at or behind `at`, as `JsonBytes.textEnd`, but without a look at the end of the text: only inside a block, where more
 * follows. Throws RangeError where there is none, and may where the text ends within three bytes behind it.
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
 * The first `,`, `]` or `}` at or behind `at`: what ends a scalar unless white space does, which `JsonBytes.scalarEnd` heeds. As with
 * {@link quoteAfter}, only inside a block; throws as that does.
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
