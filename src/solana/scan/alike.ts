import type { JsonBytes, OnText } from './json-bytes.ts';
import { Shape } from './shape.ts';

/** To learn a shape costs more than to walk a value: a node whose values all differ must not have each of them learned. */
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
    const next = this.#repeated(at);
    if (next >= 0) return next;
    return this.#learned < MOST_SHAPES ? this.#learn(at) : this.#walk(at, this.#onText);
  }

  /** -1 where it is of no known shape, or the text ends so soon behind it that only a walk can tell. */
  #repeated(at: number): number {
    try {
      return this.#shape?.read(this.#view, at, this.#onText) ?? -1;
    } catch (error) {
      if (error instanceof RangeError) return -1;
      throw error;
    }
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
