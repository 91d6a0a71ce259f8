import { BASE58_DIGITS } from '../../domain/address.ts';
import { SHORTEST_ADDRESS } from './fingerprint.ts';

const QUOTE = 0x22;

/** What two bytes are that follow each other: each kind is a bit of its own, and all others are 0. */
const DIGITS = 1;
const DIGIT_THEN_QUOTE = 2;
const QUOTE_FIRST = 4;
/** By two bytes as a number of 16 bits, the first byte lowest. Of its 64 KiB, the answers of nodes touch about 7. */
const PAIRS = pairs();

/**
 * The closing quote of the address whose text begins at `at`, 32 to 44 digits of base58; -1 where the text is no address. Only inside a
 * block, where more follows: throws RangeError where the bytes end within 46.
 */
export function addressEnd(view: DataView, at: number): number {
  // Nearly all have 43 or 44 digits. Written out, as a loop takes twice the time.
  const first =
    pairAt(view, at) &
    pairAt(view, at + 2) &
    pairAt(view, at + 4) &
    pairAt(view, at + 6) &
    pairAt(view, at + 8) &
    pairAt(view, at + 10) &
    pairAt(view, at + 12) &
    pairAt(view, at + 14) &
    pairAt(view, at + 16) &
    pairAt(view, at + 18) &
    pairAt(view, at + 20) &
    pairAt(view, at + 22) &
    pairAt(view, at + 24) &
    pairAt(view, at + 26) &
    pairAt(view, at + 28) &
    pairAt(view, at + 30) &
    pairAt(view, at + 32) &
    pairAt(view, at + 34) &
    pairAt(view, at + 36) &
    pairAt(view, at + 38) &
    pairAt(view, at + 40);
  if (first !== DIGITS) return endOfShort(view, at);
  const pair = pairAt(view, at + 42);
  if (pair === DIGITS) return view.getUint8(at + 44) === QUOTE ? at + 44 : -1;
  return pair === 0 ? -1 : at + 42 + (pair & DIGIT_THEN_QUOTE) / DIGIT_THEN_QUOTE;
}

function endOfShort(view: DataView, at: number): number {
  let next = at;
  while (pairAt(view, next) === DIGITS) next += 2;
  const pair = pairAt(view, next);
  const end = pair === DIGIT_THEN_QUOTE ? next + 1 : next;
  return pair !== 0 && end - at >= SHORTEST_ADDRESS ? end : -1;
}

function pairAt(view: DataView, at: number): number {
  return PAIRS[view.getUint16(at, true)] as number;
}

function pairs(): Uint8Array {
  const table = new Uint8Array(2 ** 16);
  const digits = Buffer.from(BASE58_DIGITS);
  for (const first of digits) {
    for (const second of digits) table[first | (second << 8)] = DIGITS;
    table[first | (QUOTE << 8)] = DIGIT_THEN_QUOTE;
  }
  for (let second = 0; second < 2 ** 8; second += 1) table[QUOTE | (second << 8)] = QUOTE_FIRST;
  return table;
}
