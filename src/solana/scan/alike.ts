import type { JsonBytes, OnText } from './json-bytes.ts';
import { Shape } from './shape.ts';

const MOST_SHAPES = 16;

/** Reads JSON values that are mostly of one shape, as the account keys and the token balances of a block are. */
export class AlikeReader {
  readonly #view: DataView;
  readonly #walk: (at: number, onText: OnText) => number;
  readonly #onText: OnText;
  #shape: Shape | null = null;
  #learned = 0;

  /** `walk` reads a value of any shape and gives the position after it; in all values of one shape it tells of the same texts. */
  constructor(json: JsonBytes, walk: (at: number, onText: OnText) => number, onText: OnText) {
    this.#view = json.view;
    this.#walk = walk;
    this.#onText = onText;
  }

  /** Reads the value at `at`, tells of its texts at least once, and gives the position after it. Throws what `walk` throws. */
  read(at: number): number {
    const next = this.#shape?.read(this.#view, at, this.#onText) ?? -1;
    if (next >= 0) return next;
    return this.#learned < MOST_SHAPES ? this.#learn(at) : this.#walk(at, this.#onText);
  }

  #learn(at: number): number {
    const told = new Set<number>();
    const end = this.#walk(at, (from, to) => {
      told.add(from - at);
      this.#onText(from, to);
    });
    this.#shape = new Shape(new Uint8Array(this.#view.buffer, this.#view.byteOffset + at, end - at), told);
    this.#learned += 1;
    return end;
  }
}
