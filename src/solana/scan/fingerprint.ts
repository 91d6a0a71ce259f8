import { randomFillSync } from 'node:crypto';

/** Base58 text of 32 bytes has 32 to 44 characters. */
export const SHORTEST_ADDRESS = 32;
export const LONGEST_ADDRESS = 44;

const WORD_BYTES = 4;
/** Eight words from the front and three from the end cover every address; with the length they tell any two apart. */
const FRONT_WORDS = SHORTEST_ADDRESS / WORD_BYTES;
const END_WORDS = (LONGEST_ADDRESS - SHORTEST_ADDRESS) / WORD_BYTES;
const WORDS = FRONT_WORDS + END_WORDS;

/**
 * A hash of an address's text where it lies, under keys drawn anew for each: who does not see the keys cannot make two addresses of
 * equal hash. Two sums of words times secret factors (multilinear hashing); a product forgets what differs in the high bits
 * of a word only, so the second sum reads the words in the other byte order.
 */
export class Fingerprint {
  /** 32 bits of the last hash, apart from those that {@link take} gives. */
  spread = 0;
  readonly #keys = randomFillSync(new Int32Array(2 * WORDS + 2));

  /** The fingerprint of the 32 to 44 bytes from `start` to `end`: 32 bits, signed, never 0. */
  take(view: DataView, start: number, end: number): number {
    const keys = this.#keys;
    const length = end - start;
    let one = Math.imul(length, key(keys, 2 * WORDS));
    let other = Math.imul(length, key(keys, 2 * WORDS + 1));
    for (let word = 0; word < FRONT_WORDS; word += 1) {
      const at = start + word * WORD_BYTES;
      one = (one + Math.imul(view.getInt32(at, true), key(keys, word))) | 0;
      other = (other + Math.imul(view.getInt32(at, false), key(keys, WORDS + word))) | 0;
    }
    for (let word = FRONT_WORDS; word < WORDS; word += 1) {
      const at = end - LONGEST_ADDRESS + word * WORD_BYTES;
      one = (one + Math.imul(view.getInt32(at, true), key(keys, word))) | 0;
      other = (other + Math.imul(view.getInt32(at, false), key(keys, WORDS + word))) | 0;
    }
    this.spread = mix(one);
    return mix(other ^ this.spread) || 1;
  }
}

function key(keys: Int32Array, index: number): number {
  return keys[index] as number;
}

/** Every bit of the answer depends on every bit of `value` (the end of MurmurHash3). One to one. */
function mix(value: number): number {
  const once = Math.imul(value ^ (value >>> 16), 0x85ebca6b);
  const twice = Math.imul(once ^ (once >>> 13), 0xc2b2ae35);
  return twice ^ (twice >>> 16);
}
