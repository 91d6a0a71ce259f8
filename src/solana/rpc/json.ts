import { parse } from 'lossless-json';

// Every integer of up to 15 digits is safe in a double, so only longer digit runs need the slow parser.
const LONG_DIGITS = /[0-9]{16}/;

function readNumber(text: string): number | bigint {
  if (!/^-?[0-9]+$/.test(text)) return Number(text);
  const number = Number(text);
  return Number.isSafeInteger(number) ? number : BigInt(text);
}

/** JSON without loss: integers beyond 2^53 arrive as bigint, all others as number. Throws SyntaxError. */
export function parseJson(text: string): unknown {
  return LONG_DIGITS.test(text) ? parse(text, undefined, readNumber) : JSON.parse(text);
}
