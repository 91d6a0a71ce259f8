import { SHORTEST_ADDRESS } from './fingerprint.ts';
import { isScalarStart, type OnText } from './json-bytes.ts';
import { Runs } from './runs.ts';
import { quoteAfter, quoteAfterAddress, scalarEndAfter } from './words.ts';

/** A key with its colon, a text, or another scalar, in JSON without a backslash. */
const TOKENS = /"[^"]*"\s*:|"([^"]*)"|[^\s,:[\]{}"]+/g;

/** What comes after bytes that are the same in every value of a shape. */
const END = 0;
const OTHER_SCALAR = 1;
const TEXT = 2;
/** A text as long as an address in the example, and so most likely here. */
const ADDRESS = 3;
const TOLD = 4;

/**
 * A JSON value without its scalars, learned from one example. Where the bytes between scalars are the same, so are keys, order and
 * nesting; and to see that bytes repeat takes half the time that it takes to walk them.
 */
export class Shape {
  readonly #runs: Runs;
  /** What comes after each run. */
  readonly #follows: Uint8Array;

  /** The shape of `example`; `told` are the places in it of texts that {@link read} is to tell of. */
  constructor(example: Uint8Array, told: ReadonlySet<number>) {
    const runs: Uint8Array[] = [];
    const follows: number[] = [];
    let from = 0;
    for (const token of Buffer.from(example).toString('latin1').matchAll(TOKENS)) {
      const [all, text] = token;
      if (all.endsWith(':')) continue;
      const at = token.index + (text === undefined ? 0 : 1);
      runs.push(example.subarray(from, at));
      follows.push(told.has(at) ? TOLD : kindOf(text));
      from = at + (text ?? all).length;
    }
    this.#runs = new Runs([...runs, example.subarray(from)]);
    this.#follows = Uint8Array.from([...follows, END]);
  }

  /**
   * The position after the value at `at`, or -1 where it is not of this shape: some of its texts may have been told of by then.
   * May throw RangeError where the text ends in it, or within 32 bytes behind it.
   */
  read(view: DataView, at: number, onText: OnText): number {
    const runs = this.#runs;
    let next = at;
    for (let run = 0; ; run += 1) {
      next = runs.after(view, next, run);
      if (next < 0) return -1;
      const follows = this.#follows[run] as number;
      if (follows === END) return next;
      if (follows >= ADDRESS) {
        const end = quoteAfterAddress(view, next);
        if (follows === TOLD) onText(next, end);
        next = end;
      } else if (follows === TEXT) next = quoteAfter(view, next);
      else if (isScalarStart(view.getUint8(next))) next = scalarEndAfter(view, next);
      else return -1;
    }
  }
}

function kindOf(text: string | undefined): number {
  if (text === undefined) return OTHER_SCALAR;
  return text.length < SHORTEST_ADDRESS ? TEXT : ADDRESS;
}
