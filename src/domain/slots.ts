import type { ScanRange } from './scan.ts';

/** Both ends inclusive. */
export interface Slots {
  readonly from: bigint;
  readonly to: bigint;
}

/** The JSON form, used in workflow arguments. */
export function rangeOf({ from, to }: Slots): ScanRange {
  return { from: from.toString(), to: to.toString() };
}

/** Throws SyntaxError if a slot is not a number. */
export function slotsOf({ from, to }: ScanRange): Slots {
  return { from: BigInt(from), to: BigInt(to) };
}
