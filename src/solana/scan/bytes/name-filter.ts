import { ADDRESS_TEXT } from '../../../domain/address.ts';
import { Fingerprint, hasAddressLength } from './fingerprint.ts';

const BYTES = 2 ** 24;
const WORD_BYTES = 4;
const BITS_OF_A_NAME = 6;

/**
 * All that may be an address in a block, in a fixed number of bytes (a Bloom filter). None is ever missed. Of the most that a block packed
 * with lookup tables names, 2.5 million, a stranger is taken for one about once in a million questions in 16 MiB; of 100,000, next to never.
 */
export class NameFilter {
  readonly #fingerprint = new Fingerprint();
  readonly #bits: Int32Array;
  /** A place is a hash: its lowest five bits tell which bit of the word, the others which word. */
  readonly #lastWord: number;

  /** `bytes`: a power of two; fewer suffice for blocks of fewer names. */
  constructor(bytes = BYTES) {
    this.#bits = new Int32Array(bytes / WORD_BYTES);
    this.#lastWord = this.#bits.length - 1;
  }

  /** Bytes that it takes. */
  get byteLength(): number {
    return this.#bits.byteLength;
  }

  /** What has not the form of an address is left out. */
  add(address: string): void {
    if (ADDRESS_TEXT.test(address)) this.#add(this.#fingerprint.ofText(address));
  }

  /** {@link add} for the text that lies in `view` from `start` to `end`; what has not the length of an address is left out. */
  addBytes(view: DataView, start: number, end: number): void {
    if (hasAddressLength(start, end)) this.#add(this.#fingerprint.take(view, start, end));
  }

  /** The spread is that of the hash taken last. */
  #add(print: number): void {
    const step = print | 1;
    let place = this.#fingerprint.spread;
    for (let bit = 0; bit < BITS_OF_A_NAME; bit += 1) {
      const word = this.#wordOf(place);
      this.#bits[word] = (this.#bits[word] as number) | (1 << place);
      place = (place + step) | 0;
    }
  }

  /** True for each that was added, and for next to no other text. */
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
