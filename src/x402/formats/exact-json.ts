import { LosslessNumber, stringify } from 'lossless-json';

/** An integer above 2^53. `exactJson` writes all digits; JSON.stringify writes the nearest double. */
class LargeInteger extends LosslessNumber {
  toJSON(): number {
    return Number(this.value);
  }
}

/** A JSON integer: a number if it is a safe integer. */
export function jsonInteger(value: bigint): number | LosslessNumber {
  const isSafe = value <= BigInt(Number.MAX_SAFE_INTEGER) && value >= BigInt(Number.MIN_SAFE_INTEGER);
  return isSafe ? Number(value) : new LargeInteger(value.toString());
}

/** JSON text with all digits of each {@link jsonInteger}. */
export function exactJson(value: object): string {
  return stringify(value) ?? 'null';
}
