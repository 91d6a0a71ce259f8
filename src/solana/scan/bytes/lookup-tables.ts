import { hasAddressLength } from './fingerprint.ts';
import type { WatchSet } from './watch-set.ts';

/** Bytes from `start` up to, and without, `end`. */
export interface ByteRange {
  readonly start: number;
  readonly end: number;
}

const TOGETHER = 512;

/** Batches lookups in a watch set: hundreds of memory reads at once take little more time than one. */
export class Lookups {
  readonly #watched: WatchSet;
  readonly #view: DataView;
  readonly #prints = new Int32Array(TOGETHER);
  readonly #spreads = new Int32Array(TOGETHER);
  readonly #sifted = new Uint8Array(TOGETHER);
  readonly #starts = new Int32Array(TOGETHER);
  readonly #ends = new Int32Array(TOGETHER);
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
    if (this.#waiting === TOGETHER) this.#settle();
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
