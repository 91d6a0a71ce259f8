import { BASE58_DIGITS } from '../../domain/address.ts';

const VALUES = new Uint8Array(128);
for (let value = 0; value < BASE58_DIGITS.length; value += 1) VALUES[BASE58_DIGITS.charCodeAt(value)] = value;
/** The most digits of base 58 that a number holds exactly. */
const DIGITS = 9;

/**
 * The signatures of a block's transactions, or the addresses of their signers, eight bytes each: as text those of an hour would fill hundreds
 * of megabytes. One that is not among them is taken for one with a chance of 1 to 10^15 for each, or where somebody made an address for
 * that; which can delay a proof of absence and never make one.
 */
export class BlockSignatures {
  readonly #marks: Float64Array;

  constructor(signatures: ReadonlySet<string>) {
    this.#marks = Float64Array.from(signatures, markOf).sort();
  }

  get size(): number {
    return this.#marks.length;
  }

  isSame(other: BlockSignatures): boolean {
    return this.size === other.size && this.#marks.every((mark, at) => mark === other.#marks[at]);
  }

  has(signature: string): boolean {
    const mark = markOf(signature);
    let [low, high] = [0, this.#marks.length];
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((this.#marks[middle] ?? 0) < mark) low = middle + 1;
      else high = middle;
    }
    return this.#marks[low] === mark;
  }
}

/** By the end of a signature, which nobody can choose, or of an address. */
function markOf(signature: string): number {
  let mark = 0;
  for (let at = Math.max(0, signature.length - DIGITS); at < signature.length; at += 1)
    mark = mark * BASE58_DIGITS.length + (VALUES[signature.charCodeAt(at)] ?? 0);
  return mark;
}
