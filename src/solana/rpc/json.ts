import { setImmediate } from 'node:timers/promises';
import { parse } from 'lossless-json';

// Every integer below 9 * 10^15 is safe in a double, so only larger ones need the slow parser: those outside a text, which stand
// first of all, or behind one of these.
const LARGE_INTEGER = /(?:^|[\s:,[-])(?:[0-9]{17}|9[0-9]{15})/;

function readNumber(text: string): number | bigint {
  if (!/^-?[0-9]+$/.test(text)) return Number(text);
  const number = Number(text);
  return Number.isSafeInteger(number) ? number : BigInt(text);
}

/** JSON without loss: integers beyond 2^53 arrive as bigint, all others as number. Throws SyntaxError. */
export function parseJson(text: string): unknown {
  return LARGE_INTEGER.test(text) ? parse(text, undefined, readNumber) : JSON.parse(text);
}

/** A parse of more than that at one go holds up all else in the process for too long. */
export const MOST_PARSED_BYTES = 8 * 1_024 * 1_024;
const PART_BYTES = 1_024 * 1_024;

/** Bytes that are held, part by part, with time between them for all else. */
export async function* inParts(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += PART_BYTES) {
    yield bytes.subarray(at, at + PART_BYTES);
    await setImmediate();
  }
}
