const EIGHT = 8;
const FOUR = 4;
const BYTE_BITS = 8;

/**
 * True if `length` bytes at `one` equal those at `other`; `length` is at least 1. Eight bytes are compared at once as a
 * number: equal numbers have equal bytes, except for zeros, which JSON does not contain. A NaN is never equal, but
 * UTF-8 never produces one; the bytes are then read the slow way. The last step overlaps the previous one. May throw
 * RangeError near the end of the text.
 */
export function areBytesEqual(view: DataView, one: number, other: number, length: number): boolean {
  if (length < EIGHT) return areFewBytesEqual(view, one, other, length);
  const last = length - EIGHT;
  for (let at = 0; at < last; at += EIGHT) {
    if (view.getFloat64(one + at, true) !== view.getFloat64(other + at, true)) return false;
  }
  return view.getFloat64(one + last, true) === view.getFloat64(other + last, true);
}

function areFewBytesEqual(view: DataView, one: number, other: number, length: number): boolean {
  const first = view.getInt32(one, true) ^ view.getInt32(other, true);
  // The shift drops the bytes after the run.
  if (length < FOUR) return first << (BYTE_BITS * (FOUR - length)) === 0;
  const last = length - FOUR;
  return first === 0 && view.getInt32(one + last, true) === view.getInt32(other + last, true);
}
