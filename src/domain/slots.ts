import type { ScanRange } from './scan.ts';

/** Both ends included. */
export interface Slots {
  readonly from: bigint;
  readonly to: bigint;
}

/** Throws SyntaxError for what are no numbers. */
export function slotsOf({ from, to }: ScanRange): Slots {
  return { from: BigInt(from), to: BigInt(to) };
}
