import { addressEnd } from './base58-text.ts';
import { areBytesEqual } from './byte-runs.ts';
import { isScalarStart, type JsonBytes, type OnText } from './json-bytes.ts';
import { quoteAfter, scalarEndAfter } from './u32.ts';

/** A key with its colon, a string, or another scalar, in JSON without a backslash. */
const TOKENS = /"[^"]*"\s*:|"([^"]*)"|[^\s,:[\]{}"]+/g;

/** Kinds of what follows a run: the bytes between two scalars, which are equal in every value of a shape. */
const END_OF_VALUE = 0;
const OTHER_SCALAR = 1;
const TEXT = 2;
const ADDRESS = 3;
const WALLET = 4;

/** Limit on learned shapes, because learning is slower than reading: every value of a node could have a new shape. */
const MAX_SHAPES = 16;

/** Receives the byte range of an address without its quotes. */
export type OnAddress = (start: number, end: number, isWallet: boolean) => void;

/**
 * Reads a value of any shape and returns the position after it. It must report the same fields for all values of a
 * shape.
 */
type ShapeReader = (at: number, onAddress: OnAddress) => number;

/** Reads JSON values that mostly have one shape, such as the account keys and token balances of a block. */
export class RepeatedShapeReader {
  readonly #view: DataView;
  readonly #walk: ShapeReader;
  readonly #onWallet: OnText;
  #shape: Shape | null = null;
  #learnedCount = 0;

  constructor(json: JsonBytes, walk: ShapeReader, onWallet: OnText) {
    this.#view = json.view;
    this.#walk = walk;
    this.#onWallet = onWallet;
  }

  /**
   * Reads the value at `at` and returns the position after it. Reports each wallet at least once. Throws as `walk`
   * does.
   */
  read(at: number): number {
    const next = this.#readRepeated(at);
    if (next >= 0) return next;
    const addresses = new Map<number, boolean>();
    const end = this.#walk(at, (from, to, isWallet) => {
      addresses.set(from, isWallet);
      if (isWallet) this.#onWallet(from, to);
    });
    if (this.#learnedCount < MAX_SHAPES) {
      this.#shape = new Shape(this.#view, at, end, addresses);
      this.#learnedCount += 1;
    }
    return end;
  }

  /** The position after the value; -1 if the value has a different shape or is too close to the end of the text. */
  #readRepeated(at: number): number {
    try {
      return this.#shape?.read(this.#view, at, this.#onWallet) ?? -1;
    } catch (error) {
      if (error instanceof RangeError) return -1;
      throw error;
    }
  }
}

/** The positions of the addresses in an example. The value is true if the address can be a wallet. */
type AddressStarts = ReadonlyMap<number, boolean>;

/**
 * The bytes between the scalars of a JSON value, learned from one example. If these bytes are equal, so are keys, order
 * and nesting, and comparing them takes half the time of reading them.
 */
class Shape {
  /** Pairs of numbers: position and length of each run in the example. */
  readonly #runs: Int32Array;
  readonly #scalarKinds: Uint8Array;
  /**
   * Index of the run after the last address. `#restStart` and `#restLength` are the bytes from there to the end of the
   * value that was read last: often the next value ends with the same bytes.
   */
  readonly #lastRun: number;
  #restStart = 0;
  #restLength = 0;

  /** Learns the shape of the value from `start` to `end`. */
  constructor(view: DataView, start: number, end: number, addresses: AddressStarts) {
    const runs: number[] = [];
    const kinds: number[] = [];
    let from = start;
    const text = Buffer.from(view.buffer, view.byteOffset + start, end - start).toString('latin1');
    for (const { 0: token, 1: content, index } of text.matchAll(TOKENS)) {
      if (token.endsWith(':')) continue;
      const at = start + index + (content === undefined ? 0 : 1);
      runs.push(from, at - from);
      kinds.push(kindOf(content, addresses.get(at)));
      from = at + (content ?? token).length;
    }
    this.#runs = Int32Array.from([...runs, from, end - from]);
    this.#scalarKinds = Uint8Array.from([...kinds, END_OF_VALUE]);
    this.#lastRun = 1 + kinds.findLastIndex((kind) => kind >= ADDRESS);
  }

  /**
   * The position after the value at `at`; -1 if it has a different shape or an invalid address. `onWallet` receives
   * each possible wallet, also those of a value that results in -1. Can throw RangeError if the text ends inside the
   * value or within 8 bytes after it.
   */
  read(view: DataView, at: number, onWallet: OnText): number {
    const runs = this.#runs;
    let next = at;
    let restStart = at;
    for (let run = 0; ; run += 1) {
      if (run === this.#lastRun) {
        if (this.#restLength > 0 && areBytesEqual(view, this.#restStart, next, this.#restLength))
          return next + this.#restLength;
        restStart = next;
      }
      const length = runs[2 * run + 1] as number;
      if (!areBytesEqual(view, runs[2 * run] as number, next, length)) return -1;
      next += length;
      const kind = this.#scalarKinds[run] as number;
      if (kind === END_OF_VALUE) {
        this.#restStart = restStart;
        this.#restLength = next - restStart;
        return next;
      }
      if (kind >= ADDRESS) {
        const end = addressEnd(view, next);
        if (end < 0) return -1;
        if (kind === WALLET) onWallet(next, end);
        next = end;
      } else if (kind === TEXT) next = quoteAfter(view, next);
      else if (isScalarStart(view.getUint8(next))) next = scalarEndAfter(view, next);
      else return -1;
    }
  }
}

function kindOf(text: string | undefined, isWallet: boolean | undefined): number {
  if (text === undefined) return OTHER_SCALAR;
  if (isWallet === undefined) return TEXT;
  return isWallet ? WALLET : ADDRESS;
}
