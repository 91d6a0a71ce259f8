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
