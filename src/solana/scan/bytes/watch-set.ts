import { ADDRESS_TEXT } from '../../../domain/address.ts';
import { Fingerprint, hasAddressLength } from './fingerprint.ts';

/** A wallet's position implies its segment: so 32 stored bits represent a 44-bit fingerprint. */
const SEGMENT_BITS = 12;
const SEGMENTS = 2 ** SEGMENT_BITS;
const SMALLEST_SEGMENT = 8;
const HIGHEST_LOAD = 3 / 4;

/** Sieve bits per place of the table; several places share one word of the sieve. */
const SIEVE_BITS = 4;
const WORD_BITS = 32;
const PLACES_OF_A_WORD = WORD_BITS / SIEVE_BITS;

const EMPTY = 0;

/**
 * All watched wallets, each as a fingerprint of its base58 text in one flat hash table. A sieve in front of the table
 * fits into the processor cache and rejects most other addresses. Together they take 6 to 12 bytes a wallet. No
 * member is ever missed. At 10 million wallets, about one in 2 million lookups of other addresses is a false
 * positive. Each set has its own random keys ({@link Fingerprint}), so an address made to match one succeeds with
 * 2^-28 at most. PostgreSQL decides every hit.
 */
export class WatchSet {
  readonly #fingerprint = new Fingerprint();
  /**
   * Segments of equal length, a power of two; a wallet is at the place of its fingerprint in its segment, or soon
   * after.
   */
  #slots: Int32Array;
  #stride: number;
  /** Two bits of one word per wallet, selected by segment and fingerprint. */
  #sieve: Int32Array;
  readonly #counts = new Uint32Array(SEGMENTS);
  #size = 0;

  /** `expected`: the number of wallets to be added soon; more can be added at any time. */
  constructor(expected: number) {
    this.#stride = strideFor(expected / SEGMENTS);
    this.#slots = new Int32Array(SEGMENTS * this.#stride);
    this.#sieve = sieveFor(this.#slots);
  }

  /** The number of different wallets; two with the same fingerprint count once. */
  get size(): number {
    return this.#size;
  }

  /** Watches `address`. Throws RangeError for text that is not an address, because no scan would ever find it. */
  add(address: string): void {
    if (!ADDRESS_TEXT.test(address)) throw new RangeError(`${JSON.stringify(address)} is no address`);
    const print = this.#fingerprint.ofText(address);
    const segment = segmentOf(this.#fingerprint.spread);
    if (!this.#put(segment, print)) return;
    this.#size += 1;
    const count = (this.#counts[segment] ?? 0) + 1;
    this.#counts[segment] = count;
    if (count > this.#stride * HIGHEST_LOAD) this.#grow();
  }

  /** True for every member, and for almost no other text. */
  has(address: string): boolean {
    return ADDRESS_TEXT.test(address) && this.#hasHash(this.#fingerprint.ofText(address));
  }

  hasBytes(view: DataView, start: number, end: number): boolean {
    return hasAddressLength(start, end) && this.#hasHash(this.take(view, start, end));
  }

  /** Hashes 32 to 44 bytes for {@link sift} and {@link holds}; {@link spread} is valid until the next call. */
  take(view: DataView, start: number, end: number): number {
    return this.#fingerprint.take(view, start, end);
  }

  get spread(): number {
    return this.#fingerprint.spread;
  }

  /** 1 if a member may have this hash, else 0. Without branches, so that memory is read for many hashes at once. */
  sift(spread: number, print: number): number {
    const mesh = this.#sieve[this.#meshOf(segmentOf(spread), print)] as number;
    return (mesh >>> firstBit(print)) & (mesh >>> secondBit(print)) & 1;
  }

  holds(spread: number, print: number): boolean {
    return this.#slots[this.#slotOf(segmentOf(spread), print)] === print;
  }

  #hasHash(print: number): boolean {
    return this.sift(this.spread, print) === 1 && this.holds(this.spread, print);
  }

  #put(segment: number, print: number): boolean {
    const slot = this.#slotOf(segment, print);
    const isNew = this.#slots[slot] === EMPTY;
    this.#slots[slot] = print;
    const mesh = this.#meshOf(segment, print);
    this.#sieve[mesh] = (this.#sieve[mesh] as number) | (1 << firstBit(print)) | (1 << secondBit(print));
    return isNew;
  }

  /** The word of the sieve, from bits of the print that do not select its place in the table. */
  #meshOf(segment: number, print: number): number {
    const meshes = this.#stride / PLACES_OF_A_WORD;
    return segment * meshes + ((print >>> 8) & (meshes - 1));
  }

  /** The place of `print`, or the empty place for it. A segment is never full. */
  #slotOf(segment: number, print: number): number {
    const slots = this.#slots;
    const mask = this.#stride - 1;
    const base = segment * this.#stride;
    let place = print & mask;
    for (;;) {
      const found = slots[base + place];
      if (found === EMPTY || found === print) return base + place;
      place = (place + 1) & mask;
    }
  }

  #grow(): void {
    const [slots, stride] = [this.#slots, this.#stride];
    this.#stride = stride * 2;
    this.#slots = new Int32Array(SEGMENTS * this.#stride);
    this.#sieve = sieveFor(this.#slots);
    for (let at = 0; at < slots.length; at += 1) {
      const print = slots[at] ?? EMPTY;
      if (print !== EMPTY) this.#put(Math.floor(at / stride), print);
    }
  }
}

function sieveFor(slots: Int32Array): Int32Array {
  return new Int32Array(slots.length / PLACES_OF_A_WORD);
}

function firstBit(print: number): number {
  return print >>> 27;
}

function secondBit(print: number): number {
  return (print >>> 22) & 31;
}

function segmentOf(spread: number): number {
  return spread >>> (32 - SEGMENT_BITS);
}

/** The smallest power of two for `count` wallets, plus a few more by chance, without growing. */
function strideFor(count: number): number {
  const likely = count + 4 * Math.sqrt(count);
  return Math.max(SMALLEST_SEGMENT, 2 ** Math.ceil(Math.log2(likely / HIGHEST_LOAD)));
}
