import { ADDRESS_TEXT } from '../../../domain/address.ts';
import { Fingerprint, hasAddressLength } from './fingerprint.ts';
import type { ByteRange } from './json-bytes.ts';

/** A wallet's position implies its segment: so 32 stored bits represent a 44-bit fingerprint. */
const SEGMENT_BITS = 12;
const SEGMENT_COUNT = 2 ** SEGMENT_BITS;
const MIN_SEGMENT_LENGTH = 8;
const MAX_LOAD = 3 / 4;

/** Sieve bits per place of the table; several places share one word of the sieve. */
const SIEVE_BITS_PER_PLACE = 4;
const WORD_BITS = 32;
const PLACES_PER_WORD = WORD_BITS / SIEVE_BITS_PER_PLACE;

const EMPTY = 0;

const LOOKUPS_PER_BATCH = 512;

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
  #table: Int32Array;
  #segmentLength: number;
  /** Two bits of one word per wallet, selected by segment and fingerprint. */
  #sieve: Int32Array;
  readonly #counts = new Uint32Array(SEGMENT_COUNT);
  #size = 0;

  /** `expected`: the number of wallets to be added soon; more can be added at any time. */
  constructor(expectedCount: number) {
    this.#segmentLength = segmentLengthFor(expectedCount / SEGMENT_COUNT);
    this.#table = new Int32Array(SEGMENT_COUNT * this.#segmentLength);
    this.#sieve = sieveFor(this.#table);
  }

  /** The number of different wallets; two with the same fingerprint count once. */
  get size(): number {
    return this.#size;
  }

  get byteLength(): number {
    return this.#table.byteLength + this.#sieve.byteLength;
  }

  /** Adds `address`. Throws RangeError for text that is not an address, because no scan would ever find it. */
  add(address: string): void {
    if (!ADDRESS_TEXT.test(address)) throw new RangeError(`${JSON.stringify(address)} is no address`);
    this.#add(this.#fingerprint.hashText(address));
  }

  /** {@link add} for the text in `view` from `start` to `end`; ignores text without the length of an address. */
  addBytes(view: DataView, start: number, end: number): void {
    if (hasAddressLength(start, end)) this.#add(this.hash(view, start, end));
  }

  /** True for every member, and for almost no other text. */
  has(address: string): boolean {
    return ADDRESS_TEXT.test(address) && this.#hasHash(this.#fingerprint.hashText(address));
  }

  hasBytes(view: DataView, start: number, end: number): boolean {
    return hasAddressLength(start, end) && this.#hasHash(this.hash(view, start, end));
  }

  /** Hashes 32 to 44 bytes for {@link passesSieve} and {@link tableHas}; {@link segmentBits} is valid until the next call. */
  hash(view: DataView, start: number, end: number): number {
    return this.#fingerprint.hash(view, start, end);
  }

  get segmentBits(): number {
    return this.#fingerprint.segmentBits;
  }

  /** 1 if a member may have this hash, else 0. Without branches, so that memory is read for many hashes at once. */
  passesSieve(segmentBits: number, fingerprint: number): number {
    const sieveWord = this.#sieve[this.#sieveIndexOf(segmentOf(segmentBits), fingerprint)] as number;
    return (sieveWord >>> firstBit(fingerprint)) & (sieveWord >>> secondBit(fingerprint)) & 1;
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

  /** The word of the sieve, from bits of the print that do not select its place in the table. */
  #sieveIndexOf(segment: number, fingerprint: number): number {
    const wordsPerSegment = this.#segmentLength / PLACES_PER_WORD;
    return segment * wordsPerSegment + ((fingerprint >>> 8) & (wordsPerSegment - 1));
  }

  /** The place of `print`, or the empty place for it. A segment is never full. */
  #placeOf(segment: number, fingerprint: number): number {
    const table = this.#table;
    const mask = this.#segmentLength - 1;
    const base = segment * this.#segmentLength;
    let place = fingerprint & mask;
    for (;;) {
      const found = table[base + place];
      if (found === EMPTY || found === fingerprint) return base + place;
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

/** Batches lookups in a watch set: hundreds of memory reads at once take little more time than one. */
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

  /** The ranges of found wallets, in the order of {@link add}. */
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
  return new Int32Array(table.length / PLACES_PER_WORD);
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

/** The smallest power of two for `count` wallets, plus a few more by chance, without growing. */
function segmentLengthFor(count: number): number {
  const likelyCount = count + 4 * Math.sqrt(count);
  return Math.max(MIN_SEGMENT_LENGTH, 2 ** Math.ceil(Math.log2(likelyCount / MAX_LOAD)));
}
