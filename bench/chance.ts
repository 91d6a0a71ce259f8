import { base58 } from '@scure/base';

/** Numbers that look random and are the same for the same seed (mulberry32). */
export class Chance {
  #state: number;

  constructor(seed: number) {
    this.#state = seed;
  }

  /** A whole number from 0 up to, and without, `below`. */
  below(below: number): number {
    this.#state = (this.#state + 0x6d2b79f5) | 0;
    let value = Math.imul(this.#state ^ (this.#state >>> 15), this.#state | 1);
    value ^= value + Math.imul(value ^ (value >>> 7), value | 61);
    return ((((value ^ (value >>> 14)) >>> 0) / 2 ** 32) * below) | 0;
  }

  /** Base58 text of so many bytes: 32 are an address, 64 a signature. */
  base58(bytes: number): string {
    return base58.encode(Uint8Array.from({ length: bytes }, () => this.below(256)));
  }
}
