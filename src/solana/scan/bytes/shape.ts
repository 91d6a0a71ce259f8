import { addressEnd } from './base58-text.ts';
import { areBytesEqual } from './byte-runs.ts';
import { isScalarStart, type JsonBytes, type OnText } from './json-bytes.ts';
import { quoteAfter, scalarEndAfter } from './u32.ts';

/** A key with its colon, a text, or another scalar, in JSON without a backslash. */
const TOKENS = /"[^"]*"\s*:|"([^"]*)"|[^\s,:[\]{}"]+/g;

/** What follows the bytes that are equal in every value of a shape. */
const END_OF_VALUE = 0;
const OTHER_SCALAR = 1;
const TEXT = 2;
const ADDRESS = 3;
const WALLET = 4;

/** Learning a shape costs more than walking a value: a node whose values all differ must not cause one per value. */
const MAX_SHAPES = 16;

/** Receives the range of an address's text. */
export type OnAddress = (start: number, end: number, isWallet: boolean) => void;

/** Reads a value of any shape and returns the position after it. Reports the same texts for all values of a shape. */
type ShapeReader = (at: number, onAddress: OnAddress) => number;

/** Reads JSON values that mostly have one shape, as the account keys and token balances of a block do. */
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

  /** Reads the value at `at`, reports its wallets at least once, and returns the end. Throws errors of `walk`. */
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

  /** -1 if the value has another shape, or the text ends so soon after it that only a walk can decide. */
  #readRepeated(at: number): number {
    try {
      return this.#shape?.read(this.#view, at, this.#onWallet) ?? -1;
    } catch (error) {
      if (error instanceof RangeError) return -1;
      throw error;
    }
  }
}

/** The position of each address in an example, and whether it may be a wallet. */
type AddressStarts = ReadonlyMap<number, boolean>;

/**
 * A JSON value without its scalars, learned from one example. If the bytes between the scalars are equal, so are
 * keys, order and nesting. Comparing bytes takes half the time of walking them.
 */
class Shape {
  /** Position and length of each run of bytes between scalars, in the example. */
  readonly #runs: Int32Array;
  readonly #scalarKinds: Uint8Array;
  /** The run after the last address. `#rest`: where the bytes from there on are in the last value of this shape. */
  readonly #lastRun: number;
  #restStart = 0;
  #restLength = 0;

  /** The example is the value from `start` to `end`. */
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
   * The position after the value at `at`, or -1 if it has another shape or an invalid address. `onWallet` receives
   * each text that may be a wallet, even some of a value that results in -1. May throw RangeError if the text ends
   * inside the value, or within 8 bytes after it.
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
