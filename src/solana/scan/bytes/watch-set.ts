import { ADDRESS_TEXT } from '../../../domain/address.ts';
import { Fingerprint, hasAddressLength } from './fingerprint.ts';
import type { ByteRange } from './json-bytes.ts';

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

const LOOKUPS_AT_ONCE = 512;

/**
 * All watched wallets, or all addresses in an oversized block, each as a fingerprint of its base58 text in one flat
 * hash table. A sieve in front of the table fits into the processor cache and rejects most other addresses. Together
 * they take 6 to 12 bytes a wallet. No member is ever missed. At 10 million wallets, about one in 2 million lookups of other addresses is a false
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

  get byteLength(): number {
    return this.#slots.byteLength + this.#sieve.byteLength;
  }

  /** Adds `address`. Throws RangeError for text that is not an address, because no scan would ever find it. */
  add(address: string): void {
    if (!ADDRESS_TEXT.test(address)) throw new RangeError(`${JSON.stringify(address)} is no address`);
    this.#add(this.#fingerprint.ofText(address));
  }

  /** {@link add} for the text in `view` from `start` to `end`; ignores text without the length of an address. */
  addBytes(view: DataView, start: number, end: number): void {
    if (hasAddressLength(start, end)) this.#add(this.take(view, start, end));
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

  #add(print: number): void {
    const segment = segmentOf(this.#fingerprint.spread);
    if (!this.#put(segment, print)) return;
    this.#size += 1;
    const count = (this.#counts[segment] ?? 0) + 1;
    this.#counts[segment] = count;
    if (count > this.#stride * HIGHEST_LOAD) this.#grow();
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

/** Batches lookups in a watch set: hundreds of memory reads at once take little more time than one. */
export class Lookups {
  readonly #watched: WatchSet;
  readonly #view: DataView;
  readonly #prints = new Int32Array(LOOKUPS_AT_ONCE);
  readonly #spreads = new Int32Array(LOOKUPS_AT_ONCE);
  readonly #sifted = new Uint8Array(LOOKUPS_AT_ONCE);
  readonly #starts = new Int32Array(LOOKUPS_AT_ONCE);
  readonly #ends = new Int32Array(LOOKUPS_AT_ONCE);
  readonly #found: ByteRange[] = [];
  #waiting = 0;

  constructor(watched: WatchSet, view: DataView) {
    this.#watched = watched;
    this.#view = view;
  }

  ask(start: number, end: number): void {
    if (!hasAddressLength(start, end)) return;
    const index = this.#waiting;
    this.#prints[index] = this.#watched.take(this.#view, start, end);
    this.#spreads[index] = this.#watched.spread;
    this.#starts[index] = start;
    this.#ends[index] = end;
    this.#waiting = index + 1;
    if (this.#waiting === LOOKUPS_AT_ONCE) this.#settle();
  }

  /** The ranges of found wallets, in the order of {@link ask}. */
  found(): readonly ByteRange[] {
    this.#settle();
    return this.#found;
  }

  #settle(): void {
    const watched = this.#watched;
    const prints = this.#prints;
    const spreads = this.#spreads;
    const sifted = this.#sifted;
    for (let index = 0; index < this.#waiting; index += 1) {
      sifted[index] = watched.sift(spreads[index] as number, prints[index] as number);
    }
    for (let index = 0; index < this.#waiting; index += 1) {
      if (sifted[index] === 1 && watched.holds(spreads[index] as number, prints[index] as number)) {
        this.#found.push({ start: this.#starts[index] as number, end: this.#ends[index] as number });
      }
    }
    this.#waiting = 0;
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
