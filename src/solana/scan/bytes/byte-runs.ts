const EIGHT = 8;
const FOUR = 4;
const BYTE_BITS = 8;

/**
 * True if the `length` bytes (at least 1) at `one` equal those at `other`. Can throw RangeError near the end of the
 * text.
 *
 * Eight bytes are compared at once as one float64, and the last eight can overlap the ones before. Only 0 and -0 are
 * equal numbers with different bytes, and JSON has no zero bytes. NaN, which UTF-8 text cannot form, would only cause a
 * false difference.
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
