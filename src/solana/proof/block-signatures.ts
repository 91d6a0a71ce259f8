import { BASE58_DIGITS } from '../../domain/address.ts';

const VALUES = new Uint8Array(128);
for (let value = 0; value < BASE58_DIGITS.length; value += 1) VALUES[BASE58_DIGITS.charCodeAt(value)] = value;
/** The most base58 digits that a JavaScript number represents exactly. */
const DIGITS = 9;

/**
 * The signatures of a block's transactions, or their signers' addresses, as eight bytes each: an hour of full text
 * would need hundreds of megabytes. An absent entry matches a given entry with a probability of 1 to 10^15, or if an
 * address was made to match. A false match can delay a proof of absence, never produce one.
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

/** Uses the last digits of a signature, which no signer can choose, or of an address. */
function markOf(signature: string): number {
  let mark = 0;
  for (let at = Math.max(0, signature.length - DIGITS); at < signature.length; at += 1)
    mark = mark * BASE58_DIGITS.length + (VALUES[signature.charCodeAt(at)] ?? 0);
  return mark;
}
