import type { ScanRange } from './scan.ts';

/** Both ends included. */
export interface Slots {
  readonly from: bigint;
  readonly to: bigint;
}

/** As orders have them, which may travel as JSON. */
export function rangeOf({ from, to }: Slots): ScanRange {
  return { from: from.toString(), to: to.toString() };
}

/** Throws SyntaxError for what are no numbers. */
export function slotsOf({ from, to }: ScanRange): Slots {
  return { from: BigInt(from), to: BigInt(to) };
}
