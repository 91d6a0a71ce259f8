import { LosslessNumber, stringify } from 'lossless-json';

/** An integer that a double cannot hold. `exactJson` writes all of its digits; JSON.stringify writes the nearest double. */
class LargeInteger extends LosslessNumber {
  toJSON(): number {
    return Number(this.value);
  }
}

/** A JSON integer: a number where that is exact. */
export function jsonInteger(value: bigint): number | LosslessNumber {
  const isSafe = value <= BigInt(Number.MAX_SAFE_INTEGER) && value >= BigInt(Number.MIN_SAFE_INTEGER);
  return isSafe ? Number(value) : new LargeInteger(value.toString());
}

/** The JSON text of an object, with every digit of each {@link jsonInteger}. */
export function exactJson(value: object): string {
  return stringify(value) ?? 'null';
}
