import type { JsonBytes, OnText } from './json-bytes.ts';
import { type AddressesAt, Shape } from './shape.ts';

/** To learn a shape costs more than to walk a value: a node whose values all differ must not have each of them learned. */
const MOST_SHAPES = 16;

/** Is told of an address: its text lies from `start` to `end`. */
export type OnAddress = (start: number, end: number, isWallet: boolean) => void;

/** Reads a value of any shape and gives the position after it; in all values of one shape it tells of the same texts. */
type Walk = (at: number, onAddress: OnAddress) => number;

/** Reads JSON values that are mostly of one shape, as the account keys and the token balances of a block are. */
export class AlikeReader {
  readonly #view: DataView;
  readonly #walk: Walk;
  readonly #onWallet: OnText;
  #shape: Shape | null = null;
  #learned = 0;

  constructor(json: JsonBytes, walk: Walk, onWallet: OnText) {
    this.#view = json.view;
    this.#walk = walk;
    this.#onWallet = onWallet;
  }

  /** Reads the value at `at`, tells of its wallets at least once, and gives the position after it. Throws what `walk` throws. */
  read(at: number): number {
    const next = this.#repeated(at);
    if (next >= 0) return next;
    const addresses = new Map<number, { readonly isWallet: boolean }>();
    const end = this.#walk(at, (from, to, isWallet) => {
      addresses.set(from - at, { isWallet });
      if (isWallet) this.#onWallet(from, to);
    });
    if (this.#learned < MOST_SHAPES) this.#learn(at, end, addresses);
    return end;
  }

  /** -1 where it is of no known shape, or the text ends so soon behind it that only a walk can tell. */
  #repeated(at: number): number {
    try {
      return this.#shape?.read(this.#view, at, this.#onWallet) ?? -1;
    } catch (error) {
      if (error instanceof RangeError) return -1;
      throw error;
    }
  }

  #learn(at: number, end: number, addresses: AddressesAt): void {
    const { buffer, byteOffset } = this.#view;
    this.#shape = new Shape(new Uint8Array(buffer, byteOffset + at, end - at), addresses);
    this.#learned += 1;
  }
}
