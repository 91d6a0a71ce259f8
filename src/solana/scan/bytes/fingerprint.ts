import { randomFillSync } from 'node:crypto';
import { U32_BYTES } from './u32.ts';

/** Base58 text of 32 bytes has 32 to 44 characters. */
export const MIN_ADDRESS_LENGTH = 32;
const MAX_ADDRESS_LENGTH = 44;

export function hasAddressLength(start: number, end: number): boolean {
  return end - start >= MIN_ADDRESS_LENGTH && end - start <= MAX_ADDRESS_LENGTH;
}

/** A hash reads eight u32 values from the start, three from the end, and the length: any two addresses differ in them. */
const FRONT_U32S = 8;
const END_KEYS = 8;
const KEY_COUNT = 12;

/**
 * A keyed hash of the text of an address, with new random keys for each instance. It has two sums; each adds up
 * products of two u32 values, with a secret key added to each value. Source: Multilinear-HM in Lemire and Kaser,
 * "Strongly universal string hashing is fast".
 *
 * Their bound does not apply, because the sums have 32 bits. Two texts collide in one sum with a probability of at most
 * 2^-(32 - v), where v is the lowest bit in which their u32 values differ. The second sum reads the values in the
 * opposite byte order, so that both sums collide with a probability of at most 2^-(64 - v - v'). For one differing
 * character, v + v' is 24 plus twice the lowest bit in which it differs: at most 36 (for `1` and `q`). Without the
 * keys, an attacker therefore finds two addresses with equal hashes with a probability of at most 2^-28.
 */
export class Fingerprint {
  /** The other 32 bits of the last hash, independent of the bits that {@link hash} returns. */
  segmentBits = 0;
  readonly #keys = randomFillSync(new Int32Array(2 * KEY_COUNT));
  readonly #text = Buffer.alloc(MAX_ADDRESS_LENGTH);
  readonly #view = new DataView(this.#text.buffer, this.#text.byteOffset, MAX_ADDRESS_LENGTH);

  hashText(address: string): number {
    return this.hash(this.#view, 0, this.#text.write(address, 'latin1'));
  }

  /** The fingerprint of the 32 to 44 bytes from `start` to `end`: 32 bits, signed, never 0. */
  hash(view: DataView, start: number, end: number): number {
    const keys = this.#keys;
    let firstSum = 0;
    let secondSum = 0;
    for (let index = 0; index < FRONT_U32S; index += 2) {
      const at = start + index * U32_BYTES;
      const next = at + U32_BYTES;
      firstSum = (firstSum + product(keys, index, view.getInt32(at, true), view.getInt32(next, true))) | 0;
      secondSum = (secondSum + product(keys, KEY_COUNT + index, view.getInt32(at), view.getInt32(next))) | 0;
    }
    const length = end - start;
    const third = end - 3 * U32_BYTES;
    const second = end - 2 * U32_BYTES;
    const last = end - U32_BYTES;
    firstSum += product(keys, END_KEYS, view.getInt32(third, true), view.getInt32(second, true));
    firstSum += product(keys, END_KEYS + 2, view.getInt32(last, true), length);
    secondSum += product(keys, KEY_COUNT + END_KEYS, view.getInt32(third), view.getInt32(second));
    secondSum += product(keys, KEY_COUNT + END_KEYS + 2, view.getInt32(last), length);
    this.segmentBits = mix(firstSum | 0);
    return mix((secondSum | 0) ^ this.segmentBits) || 1;
  }
}

function product(keys: Int32Array, index: number, first: number, second: number): number {
  return Math.imul(first + (keys[index] as number), second + (keys[index + 1] as number));
}

/** The finalizer of MurmurHash3: a bijection in which every bit of the result depends on every bit of `value`. */
function mix(value: number): number {
  const once = Math.imul(value ^ (value >>> 16), 0x85ebca6b);
  const twice = Math.imul(once ^ (once >>> 13), 0xc2b2ae35);
  return twice ^ (twice >>> 16);
}
