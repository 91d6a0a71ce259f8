import { BASE58_DIGITS } from '../../domain/address.ts';

const DIGIT_VALUES = new Uint8Array(128);
for (let value = 0; value < BASE58_DIGITS.length; value += 1)
  DIGIT_VALUES[BASE58_DIGITS.charCodeAt(value)] = value;
/** Most base58 digits that a JavaScript number represents exactly. */
const MAX_MARK_DIGITS = 9;

/**
 * Set of a block's signatures, or of its signers' addresses, at eight bytes each: an hour of blocks as full text would
 * need hundreds of megabytes. An absent signature matches an entry with a probability of 1 in 10^15; an attacker can
 * grind a matching address. A false match can delay a proof of absence, never produce one.
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

/** Uses the last digits, because a signer cannot choose those of a signature. */
function markOf(signature: string): number {
  let mark = 0;
  for (let at = Math.max(0, signature.length - MAX_MARK_DIGITS); at < signature.length; at += 1)
    mark = mark * BASE58_DIGITS.length + (DIGIT_VALUES[signature.charCodeAt(at)] ?? 0);
  return mark;
}
