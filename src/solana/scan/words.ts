/** Four bytes of text at once, as a number of 32 bits, the first byte lowest. */
export const WORD_BYTES = 4;

const LOWEST_BITS = 0x01010101;
const HIGHEST_BITS = 0x80808080 | 0;

/** A word of four times the same byte. */
export function wordOf(byte: number): number {
  return Math.imul(byte, LOWEST_BITS);
}

/** Not 0 where a byte of `word` is 0; then {@link lowestMark} is the place of the first. Marks above the lowest may be false. */
export function marksOf(word: number): number {
  return (word - LOWEST_BITS) & ~word & HIGHEST_BITS;
}

/** The place, 0 to 3, of the byte that has the lowest mark. */
export function lowestMark(marks: number): number {
  return (31 - Math.clz32(marks & -marks)) >> 3;
}
