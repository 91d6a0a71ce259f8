/** Bytes of a u32: a little-endian 32-bit number. The loops below use the literal 4, because an export is slower. */
export const U32_BYTES = 4;

const LOWEST_BITS = 0x01010101;
const HIGHEST_BITS = 0x80808080 | 0;

const QUOTES = 0x22222222;
const COMMAS = 0x2c2c2c2c;
/** Four `}`. Four `]` become this value when {@link EITHER_CASE} is set. */
const CLOSES = 0x7d7d7d7d;
const EITHER_CASE = 0x20202020;

/** Not 0 if `u32` contains a quote; {@link lowestMark} returns its index. Marks above the lowest mark can be false. */
export function quoteMarksOf(u32: number): number {
  return marksOf(u32 ^ QUOTES);
}

export function lowestMark(marks: number): number {
  return (31 - Math.clz32(marks & -marks)) >> 3;
}

/**
 * The position of the first quote at or after `at`, like `JsonBytes.textEnd`, but without a check for the end of the
 * text. Throws RangeError if there is no quote, and possibly if the text ends within three bytes after it. Use it only
 * inside a block.
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
 * The position of the first `,`, `]` or `}` at or after `at`, which ends a scalar without white space after it
 * (`JsonBytes.scalarEnd` accepts white space). Throws as {@link quoteAfter} does.
 */
export function scalarEndAfter(view: DataView, at: number): number {
  let next = at;
  for (;;) {
    const u32 = view.getInt32(next, true);
    const marks = marksOf(u32 ^ COMMAS) | marksOf((u32 | EITHER_CASE) ^ CLOSES);
    if (marks !== 0) return next + lowestMark(marks);
    next += 4;
  }
}

/** Sets the highest bit of each byte of `u32` that is 0. Marks above the lowest mark can be false. */
function marksOf(u32: number): number {
  return (u32 - LOWEST_BITS) & ~u32 & HIGHEST_BITS;
}
