import type { JsonBytes, OnText } from './json-bytes.ts';
import { Shape } from './shape.ts';

/** Learning a shape costs more than walking a value: a node whose values all differ must not cause one per value. */
const MOST_SHAPES = 16;

/** Receives the range of an address's text. */
export type OnAddress = (start: number, end: number, isWallet: boolean) => void;

/** Reads a value of any shape and returns the position after it. Reports the same texts for all values of a shape. */
type ShapeReader = (at: number, onAddress: OnAddress) => number;

/** Reads JSON values that mostly have one shape, as the account keys and token balances of a block do. */
export class AlikeReader {
  readonly #view: DataView;
  readonly #walk: ShapeReader;
  readonly #onWallet: OnText;
  #shape: Shape | null = null;
  #learned = 0;

  constructor(json: JsonBytes, walk: ShapeReader, onWallet: OnText) {
    this.#view = json.view;
    this.#walk = walk;
    this.#onWallet = onWallet;
  }

  /** Reads the value at `at`, reports its wallets at least once, and returns the end. Throws errors of `walk`. */
  read(at: number): number {
    const next = this.#repeated(at);
    if (next >= 0) return next;
    const addresses = new Map<number, boolean>();
    const end = this.#walk(at, (from, to, isWallet) => {
      addresses.set(from, isWallet);
      if (isWallet) this.#onWallet(from, to);
    });
    if (this.#learned < MOST_SHAPES) {
      this.#shape = new Shape(this.#view, at, end, addresses);
      this.#learned += 1;
    }
    return end;
  }

  /** -1 if the value has another shape, or the text ends so soon after it that only a walk can decide. */
  #repeated(at: number): number {
    try {
      return this.#shape?.read(this.#view, at, this.#onWallet) ?? -1;
    } catch (error) {
      if (error instanceof RangeError) return -1;
      throw error;
    }
  }
}
