import { setImmediate } from 'node:timers/promises';
import { parse } from 'lossless-json';

// Integers below 9 * 10^15 are exact in a double, so only larger ones need the slow parser. The pattern finds them
// outside strings: at the start, or after one of these characters.
const LARGE_INTEGER = /(?:^|[\s:,[-])(?:[0-9]{17}|9[0-9]{15})/;

function readNumber(text: string): number | bigint {
  if (!/^-?[0-9]+$/.test(text)) return Number(text);
  const number = Number(text);
  return Number.isSafeInteger(number) ? number : BigInt(text);
}

/** Parses JSON without loss: integers beyond 2^53 become bigint, all others number. Throws SyntaxError. */
export function parseJson(text: string): unknown {
  return LARGE_INTEGER.test(text) ? parse(text, undefined, readNumber) : JSON.parse(text);
}

/** Parsing more bytes at once blocks the event loop for too long. */
export const MOST_PARSED_BYTES = 8 * 1_024 * 1_024;
const PART_BYTES = 1_024 * 1_024;

/** Yields bytes part by part, and lets the event loop run in between. */
export async function* inParts(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += PART_BYTES) {
    yield bytes.subarray(at, at + PART_BYTES);
    await setImmediate();
  }
}
