import { BASE58_DIGITS } from '../../../domain/address.ts';
import { MIN_ADDRESS_LENGTH } from './fingerprint.ts';

const QUOTE = 0x22;
const LOW_HALF = 0xffff;

/** Kinds of a pair of bytes, one bit for each kind. Any other pair has kind 0. */
const DIGITS = 1;
const DIGIT_THEN_QUOTE = 2;
const QUOTE_FIRST = 4;
/**
 * The kind of each pair, indexed by the pair as a little-endian 16-bit number. Node answers use about 7 of its 64 KiB.
 */
const PAIR_KINDS = pairKinds();

/**
 * The position of the closing quote after an address of 32 to 44 base58 digits that begins at `at`; -1 if the text is
 * not an address. Throws RangeError if the data ends within 45 bytes, so that it can be used only inside a block.
 */
export function addressEnd(view: DataView, at: number): number {
  // Nearly all addresses have 43 or 44 digits. The loop is unrolled, because a loop takes twice the time.
  const digitsMask =
    digitsAt(view, at) &
    digitsAt(view, at + 4) &
    digitsAt(view, at + 8) &
    digitsAt(view, at + 12) &
    digitsAt(view, at + 16) &
    digitsAt(view, at + 20) &
    digitsAt(view, at + 24) &
    digitsAt(view, at + 28) &
    digitsAt(view, at + 32) &
    digitsAt(view, at + 36);
  const lastU32 = view.getInt32(at + 40, true);
  if ((digitsMask & (PAIR_KINDS[lastU32 & LOW_HALF] as number)) !== DIGITS) return shortAddressEnd(view, at);
  const pair = PAIR_KINDS[lastU32 >>> 16] as number;
  if (pair === DIGITS) return view.getUint8(at + 44) === QUOTE ? at + 44 : -1;
  if (pair === DIGIT_THEN_QUOTE) return at + 43;
  return pair === QUOTE_FIRST ? at + 42 : -1;
}

function shortAddressEnd(view: DataView, at: number): number {
  let next = at;
  while (pairKindAt(view, next) === DIGITS) next += 2;
  const pair = pairKindAt(view, next);
  const end = pair === DIGIT_THEN_QUOTE ? next + 1 : next;
  return pair !== 0 && end - at >= MIN_ADDRESS_LENGTH ? end : -1;
}

/** {@link DIGITS} if all four bytes are digits. */
function digitsAt(view: DataView, at: number): number {
  const u32 = view.getInt32(at, true);
  return (PAIR_KINDS[u32 & LOW_HALF] as number) & (PAIR_KINDS[u32 >>> 16] as number);
}

function pairKindAt(view: DataView, at: number): number {
  return PAIR_KINDS[view.getUint16(at, true)] as number;
}

function pairKinds(): Uint8Array {
  const table = new Uint8Array(2 ** 16);
  const digits = Buffer.from(BASE58_DIGITS);
  for (const first of digits) {
    for (const second of digits) table[first | (second << 8)] = DIGITS;
    table[first | (QUOTE << 8)] = DIGIT_THEN_QUOTE;
  }
  for (let second = 0; second < 2 ** 8; second += 1) table[QUOTE | (second << 8)] = QUOTE_FIRST;
  return table;
}
