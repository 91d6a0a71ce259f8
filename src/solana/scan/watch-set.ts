import { Fingerprint, LONGEST_ADDRESS, SHORTEST_ADDRESS } from './fingerprint.ts';

const ADDRESS_TEXT = /^[1-9A-HJ-NP-Za-km-z]{32,44}$/;

/** The segment of a wallet is not stored, as its place tells it: that makes 44 bits of each fingerprint of 32. */
const SEGMENT_BITS = 12;
const SEGMENTS = 2 ** SEGMENT_BITS;
const SMALLEST_SEGMENT = 4;
const HIGHEST_LOAD = 3 / 4;

const EMPTY = 0;

/**
 * All wallets that we watch, each a fingerprint of its base58 text in one flat hash table: 6 to 12 bytes a wallet, and one read of far
 * memory for a question. A member is never missed. A stranger is taken for one about once in 2 million questions at 10 million
 * wallets, and nobody can make such strangers, as the hash is keyed for each set: Postgres settles every hit.
 */
export class WatchSet {
  readonly #fingerprint = new Fingerprint();
  /** Segments of equal length, a power of two; within its own, a wallet is where its fingerprint says or in a place soon after. */
  #slots: Int32Array;
  #stride: number;
  readonly #counts = new Uint32Array(SEGMENTS);
  readonly #text = Buffer.alloc(LONGEST_ADDRESS);
  readonly #view = new DataView(this.#text.buffer, this.#text.byteOffset, LONGEST_ADDRESS);
  #size = 0;

  /** `expected` is how many wallets will soon be added; more are welcome at any time. */
  constructor(expected: number) {
    this.#stride = strideFor(expected / SEGMENTS);
    this.#slots = new Int32Array(SEGMENTS * this.#stride);
  }

  /** How many different wallets were added; two of one fingerprint count once. */
  get size(): number {
    return this.#size;
  }

  /** Watches `address` from now on. Throws RangeError for what is no address: no scan would ever find it. */
  add(address: string): void {
    if (!ADDRESS_TEXT.test(address)) throw new RangeError(`${JSON.stringify(address)} is no address`);
    const print = this.#fingerprint.take(this.#view, 0, this.#text.write(address, 'latin1'));
    const segment = segmentOf(this.#fingerprint.spread);
    if (!this.#put(segment, print)) return;
    this.#size += 1;
    const count = (this.#counts[segment] ?? 0) + 1;
    this.#counts[segment] = count;
    if (count > this.#stride * HIGHEST_LOAD) this.#grow();
  }

  /** True for every member, and for next to no other text. */
  has(address: string): boolean {
    return ADDRESS_TEXT.test(address) && this.hasBytes(this.#view, 0, this.#text.write(address, 'latin1'));
  }

  /** {@link has} for the text that lies in `view` from `start` to `end`. */
  hasBytes(view: DataView, start: number, end: number): boolean {
    if (end - start < SHORTEST_ADDRESS || end - start > LONGEST_ADDRESS) return false;
    const print = this.#fingerprint.take(view, start, end);
    return this.holds(this.#fingerprint.spread, print);
  }

  /** Hashes 32 to 44 bytes of `view` for {@link touch} and {@link holds}: the print is returned, `spread` stays in the set. */
  take(view: DataView, start: number, end: number): number {
    return this.#fingerprint.take(view, start, end);
  }

  /** The second half of the last hash. */
  get spread(): number {
    return this.#fingerprint.spread;
  }

  /** Reads the place of a hash and decides nothing by it, so that the memory of many is fetched at once. */
  touch(spread: number, print: number): number {
    return this.#slots[this.#home(segmentOf(spread), print)] as number;
  }

  /** Whether a member has this hash. */
  holds(spread: number, print: number): boolean {
    return this.#slots[this.#slotOf(segmentOf(spread), print)] === print;
  }

  #put(segment: number, print: number): boolean {
    const slot = this.#slotOf(segment, print);
    const isNew = this.#slots[slot] === EMPTY;
    this.#slots[slot] = print;
    return isNew;
  }

  #home(segment: number, print: number): number {
    return segment * this.#stride + (print & (this.#stride - 1));
  }

  /** The place of `print`, or the empty one where it belongs. A segment is never full. */
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
    for (let at = 0; at < slots.length; at += 1) {
      const print = slots[at] ?? EMPTY;
      if (print !== EMPTY) this.#put(Math.floor(at / stride), print);
    }
  }
}

function segmentOf(spread: number): number {
  return spread >>> (32 - SEGMENT_BITS);
}

/** The least power of two that holds `count` wallets, and a few more by chance, without growing. */
function strideFor(count: number): number {
  const likely = count + 4 * Math.sqrt(count);
  return Math.max(SMALLEST_SEGMENT, 2 ** Math.ceil(Math.log2(likely / HIGHEST_LOAD)));
}
