import { ADDRESS_TEXT } from '../../../domain/address.ts';
import { Fingerprint, hasAddressLength } from './fingerprint.ts';
import type { ByteRange } from './json-bytes.ts';

/** The segment of a wallet is determined by 12 more bits of its hash, so that 32 stored bits represent 44. */
const SEGMENT_BITS = 12;
const SEGMENT_COUNT = 2 ** SEGMENT_BITS;
const MIN_SEGMENT_LENGTH = 8;
const MAX_LOAD = 3 / 4;

/** Bits of the sieve for each place of the table. Eight places share one u32 of the sieve. */
const SIEVE_BITS_PER_PLACE = 4;
const U32_BITS = 32;
const PLACES_PER_U32 = U32_BITS / SIEVE_BITS_PER_PLACE;

const EMPTY = 0;

const LOOKUPS_PER_BATCH = 512;

/**
 * A set of addresses, each stored as a fingerprint of its base58 text in one flat hash table. A sieve (a Bloom filter)
 * in front of the table fits into the processor cache and rejects most other addresses. Together they take 6 to 12
 * bytes for each address.
 *
 * Lookups have no false negatives. At 10 million addresses, about one in 2 million lookups of other addresses is a
 * false positive, so that each match must be looked up in PostgreSQL. Each set has its own random keys ({@link
 * Fingerprint}): an address that was made to match succeeds with a probability of at most 2^-28.
 */
export class WatchSet {
  readonly #fingerprint = new Fingerprint();
  /**
   * Segments of equal length, a power of two. An address is at the first place in its segment, from the place that its
   * fingerprint selects, that was empty (linear probing).
   */
  #table: Int32Array;
  #segmentLength: number;
  /** For each address two bits of one u32; segment and fingerprint select it. */
  #sieve: Int32Array;
  readonly #counts = new Uint32Array(SEGMENT_COUNT);
  #size = 0;

  /** `expectedCount`: number of addresses for which memory is reserved. The set grows if more are added. */
  constructor(expectedCount: number) {
    this.#segmentLength = segmentLengthFor(expectedCount / SEGMENT_COUNT);
    this.#table = new Int32Array(SEGMENT_COUNT * this.#segmentLength);
    this.#sieve = sieveFor(this.#table);
  }

  /** Number of addresses. Two addresses with the same fingerprint count once. */
  get size(): number {
    return this.#size;
  }

  get byteLength(): number {
    return this.#table.byteLength + this.#sieve.byteLength;
  }

  /** Adds `address`. Throws RangeError for text that is not an address, because no scan would find it. */
  add(address: string): void {
    if (!ADDRESS_TEXT.test(address)) throw new RangeError(`${JSON.stringify(address)} is not an address`);
    this.#add(this.#fingerprint.hashText(address));
  }

  /**
   * Like {@link add}, for the bytes from `start` to `end`. Ignores text that does not have the length of an address.
   */
  addBytes(view: DataView, start: number, end: number): void {
    if (hasAddressLength(start, end)) this.#add(this.hash(view, start, end));
  }

  /** True for every address in the set, and rarely for another address. */
  has(address: string): boolean {
    return ADDRESS_TEXT.test(address) && this.#hasHash(this.#fingerprint.hashText(address));
  }

  hasBytes(view: DataView, start: number, end: number): boolean {
    return hasAddressLength(start, end) && this.#hasHash(this.hash(view, start, end));
  }

  /**
   * Hashes 32 to 44 bytes for {@link passesSieve} and {@link tableHas}; {@link segmentBits} is valid until the next
   * call.
   */
  hash(view: DataView, start: number, end: number): number {
    return this.#fingerprint.hash(view, start, end);
  }

  get segmentBits(): number {
    return this.#fingerprint.segmentBits;
  }

  /**
   * 1 if the sieve accepts the hash, else 0. It has no branches, so that the processor reads many values in parallel.
   */
  passesSieve(segmentBits: number, fingerprint: number): number {
    const sieveU32 = this.#sieve[this.#sieveIndexOf(segmentOf(segmentBits), fingerprint)] as number;
    return (sieveU32 >>> firstBit(fingerprint)) & (sieveU32 >>> secondBit(fingerprint)) & 1;
  }

  tableHas(segmentBits: number, fingerprint: number): boolean {
    return this.#table[this.#placeOf(segmentOf(segmentBits), fingerprint)] === fingerprint;
  }

  #add(fingerprint: number): void {
    const segment = segmentOf(this.#fingerprint.segmentBits);
    if (!this.#put(segment, fingerprint)) return;
    this.#size += 1;
    const count = (this.#counts[segment] ?? 0) + 1;
    this.#counts[segment] = count;
    if (count > this.#segmentLength * MAX_LOAD) this.#grow();
  }

  #hasHash(fingerprint: number): boolean {
    return (
      this.passesSieve(this.segmentBits, fingerprint) === 1 && this.tableHas(this.segmentBits, fingerprint)
    );
  }

  #put(segment: number, fingerprint: number): boolean {
    const place = this.#placeOf(segment, fingerprint);
    const isNew = this.#table[place] === EMPTY;
    this.#table[place] = fingerprint;
    const sieveIndex = this.#sieveIndexOf(segment, fingerprint);
    this.#sieve[sieveIndex] =
      (this.#sieve[sieveIndex] as number) | (1 << firstBit(fingerprint)) | (1 << secondBit(fingerprint));
    return isNew;
  }

  /** Index of the sieve u32 for a fingerprint. Its bits do not also select the place in the table. */
  #sieveIndexOf(segment: number, fingerprint: number): number {
    const u32sPerSegment = this.#segmentLength / PLACES_PER_U32;
    return segment * u32sPerSegment + ((fingerprint >>> 8) & (u32sPerSegment - 1));
  }

  /**
   * Index of `fingerprint` in the table, or of the empty place for it. The loop ends, because a segment is never full.
   */
  #placeOf(segment: number, fingerprint: number): number {
    const table = this.#table;
    const mask = this.#segmentLength - 1;
    const base = segment * this.#segmentLength;
    let place = fingerprint & mask;
    for (;;) {
      const stored = table[base + place];
      if (stored === EMPTY || stored === fingerprint) return base + place;
      place = (place + 1) & mask;
    }
  }

  #grow(): void {
    const [oldTable, oldLength] = [this.#table, this.#segmentLength];
    this.#segmentLength = oldLength * 2;
    this.#table = new Int32Array(SEGMENT_COUNT * this.#segmentLength);
    this.#sieve = sieveFor(this.#table);
    for (let at = 0; at < oldTable.length; at += 1) {
      const fingerprint = oldTable[at] ?? EMPTY;
      if (fingerprint !== EMPTY) this.#put(Math.floor(at / oldLength), fingerprint);
    }
  }
}

/** Looks up addresses in batches, because hundreds of parallel memory reads take little more time than one. */
export class Lookups {
  readonly #watched: WatchSet;
  readonly #view: DataView;
  readonly #fingerprints = new Int32Array(LOOKUPS_PER_BATCH);
  readonly #segmentBits = new Int32Array(LOOKUPS_PER_BATCH);
  readonly #sieveResults = new Uint8Array(LOOKUPS_PER_BATCH);
  readonly #starts = new Int32Array(LOOKUPS_PER_BATCH);
  readonly #ends = new Int32Array(LOOKUPS_PER_BATCH);
  readonly #matches: ByteRange[] = [];
  #pendingCount = 0;

  constructor(watched: WatchSet, view: DataView) {
    this.#watched = watched;
    this.#view = view;
  }

  add(start: number, end: number): void {
    if (!hasAddressLength(start, end)) return;
    const index = this.#pendingCount;
    this.#fingerprints[index] = this.#watched.hash(this.#view, start, end);
    this.#segmentBits[index] = this.#watched.segmentBits;
    this.#starts[index] = start;
    this.#ends[index] = end;
    this.#pendingCount = index + 1;
    if (this.#pendingCount === LOOKUPS_PER_BATCH) this.#lookUpPending();
  }

  /** The byte ranges of the addresses that are in the watch set, in the order in which they were added. */
  matches(): readonly ByteRange[] {
    this.#lookUpPending();
    return this.#matches;
  }

  #lookUpPending(): void {
    const watched = this.#watched;
    const fingerprints = this.#fingerprints;
    const segmentBits = this.#segmentBits;
    const sieveResults = this.#sieveResults;
    for (let index = 0; index < this.#pendingCount; index += 1) {
      sieveResults[index] = watched.passesSieve(segmentBits[index] as number, fingerprints[index] as number);
    }
    for (let index = 0; index < this.#pendingCount; index += 1) {
      if (
        sieveResults[index] === 1 &&
        watched.tableHas(segmentBits[index] as number, fingerprints[index] as number)
      ) {
        this.#matches.push({ start: this.#starts[index] as number, end: this.#ends[index] as number });
      }
    }
    this.#pendingCount = 0;
  }
}

function sieveFor(table: Int32Array): Int32Array {
  return new Int32Array(table.length / PLACES_PER_U32);
}

function firstBit(fingerprint: number): number {
  return fingerprint >>> 27;
}

function secondBit(fingerprint: number): number {
  return (fingerprint >>> 22) & 31;
}

function segmentOf(segmentBits: number): number {
  return segmentBits >>> (32 - SEGMENT_BITS);
}

/**
 * The smallest power of two for a segment with `count` addresses on average. Four standard deviations are added, so
 * that hardly any segment has to grow.
 */
function segmentLengthFor(count: number): number {
  const likelyCount = count + 4 * Math.sqrt(count);
  return Math.max(MIN_SEGMENT_LENGTH, 2 ** Math.ceil(Math.log2(likelyCount / MAX_LOAD)));
}
