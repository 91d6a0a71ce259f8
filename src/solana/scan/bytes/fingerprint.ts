import { randomFillSync } from 'node:crypto';
import { WORD_BYTES } from './u32.ts';

/** Base58 text of 32 bytes has 32 to 44 characters. */
export const SHORTEST_ADDRESS = 32;
export const LONGEST_ADDRESS = 44;

export function hasAddressLength(start: number, end: number): boolean {
  return end - start >= SHORTEST_ADDRESS && end - start <= LONGEST_ADDRESS;
}

/** Eight words from the start, three from the end and the length differ for any two addresses. */
const FRONT_WORDS = 8;
const END = 8;
const NUMBERS = 12;

/**
 * A keyed hash of an address's text, with new random keys for each instance. It is two sums of products of two words
 * each, with a secret added to each word. Source: Multilinear-HM, Lemire and Kaser, "Strongly universal string
 * hashing is fast". That needs half the products of one per word. Their bound does not apply, because the sums have
 * 32 bits. Two texts collide in one sum with a probability of at most 2^-(32 - v), where v is the lowest bit in which
 * their words differ. The second sum reads the words in the other byte order: a high bit in one is low in the other.
 * Both collide with 2^-(64 - v - v'). For one differing character, v + v' is 24 plus twice its own lowest differing
 * bit, at most 36 (for `1` and `q`). So without the keys, two addresses of equal hash can be made with a probability
 * of at most 2^-28.
 */
export class Fingerprint {
  /** 32 bits of the last hash, independent of those that {@link take} returns. */
  spread = 0;
  readonly #keys = randomFillSync(new Int32Array(2 * NUMBERS));
  readonly #text = Buffer.alloc(LONGEST_ADDRESS);
  readonly #view = new DataView(this.#text.buffer, this.#text.byteOffset, LONGEST_ADDRESS);

  ofText(address: string): number {
    return this.take(this.#view, 0, this.#text.write(address, 'latin1'));
  }

  /** The fingerprint of the 32 to 44 bytes from `start` to `end`: 32 bits, signed, never 0. */
  take(view: DataView, start: number, end: number): number {
    const keys = this.#keys;
    let one = 0;
    let other = 0;
    for (let word = 0; word < FRONT_WORDS; word += 2) {
      const at = start + word * WORD_BYTES;
      const next = at + WORD_BYTES;
      one = (one + product(keys, word, view.getInt32(at, true), view.getInt32(next, true))) | 0;
      other = (other + product(keys, NUMBERS + word, view.getInt32(at), view.getInt32(next))) | 0;
    }
    const length = end - start;
    const third = end - 3 * WORD_BYTES;
    const second = end - 2 * WORD_BYTES;
    const last = end - WORD_BYTES;
    one += product(keys, END, view.getInt32(third, true), view.getInt32(second, true));
    one += product(keys, END + 2, view.getInt32(last, true), length);
    other += product(keys, NUMBERS + END, view.getInt32(third), view.getInt32(second));
    other += product(keys, NUMBERS + END + 2, view.getInt32(last), length);
    this.spread = mix(one | 0);
    return mix((other | 0) ^ this.spread) || 1;
  }
}

function product(keys: Int32Array, index: number, first: number, second: number): number {
  return Math.imul(first + (keys[index] as number), second + (keys[index + 1] as number));
}

/** Every bit of the result depends on every bit of `value` (the finalizer of MurmurHash3). One to one. */
function mix(value: number): number {
  const once = Math.imul(value ^ (value >>> 16), 0x85ebca6b);
  const twice = Math.imul(once ^ (once >>> 13), 0xc2b2ae35);
  return twice ^ (twice >>> 16);
}
