import { ADDRESS_TEXT } from '../../../domain/address.ts';
import { Fingerprint, hasAddressLength } from './fingerprint.ts';

const BYTES = 2 ** 24;
const WORD_BYTES = 4;
const BITS_OF_A_NAME = 6;

/**
 * The possible addresses of a block in a fixed number of bytes (a Bloom filter) without false negatives. A block full
 * of lookup tables names at most 2.5 million addresses. Its false-positive rate is then about one in a million at 16
 * MiB; at 100,000 addresses it is almost zero.
 */
export class NameFilter {
  readonly #fingerprint = new Fingerprint();
  readonly #bits: Int32Array;
  /** A position is a hash: its lowest five bits select the bit in the word, the others the word. */
  readonly #lastWord: number;

  /** `bytes`: a power of two; fewer suffice for blocks with fewer addresses. */
  constructor(bytes = BYTES) {
    this.#bits = new Int32Array(bytes / WORD_BYTES);
    this.#lastWord = this.#bits.length - 1;
  }

  get byteLength(): number {
    return this.#bits.byteLength;
  }

  /** Ignores text that does not have the form of an address. */
  add(address: string): void {
    if (ADDRESS_TEXT.test(address)) this.#add(this.#fingerprint.ofText(address));
  }

  /** {@link add} for the text in `view` from `start` to `end`; ignores text without the length of an address. */
  addBytes(view: DataView, start: number, end: number): void {
    if (hasAddressLength(start, end)) this.#add(this.#fingerprint.take(view, start, end));
  }

  #add(print: number): void {
    const step = print | 1;
    let place = this.#fingerprint.spread;
    for (let bit = 0; bit < BITS_OF_A_NAME; bit += 1) {
      const word = this.#wordOf(place);
      this.#bits[word] = (this.#bits[word] as number) | (1 << place);
      place = (place + step) | 0;
    }
  }

  /** True for every added address, and for almost no other text. */
  has(address: string): boolean {
    if (!ADDRESS_TEXT.test(address)) return false;
    const step = this.#fingerprint.ofText(address) | 1;
    let place = this.#fingerprint.spread;
    for (let bit = 0; bit < BITS_OF_A_NAME; bit += 1) {
      if ((((this.#bits[this.#wordOf(place)] as number) >>> place) & 1) === 0) return false;
      place = (place + step) | 0;
    }
    return true;
  }

  #wordOf(place: number): number {
    return (place >>> 5) & this.#lastWord;
  }
}
