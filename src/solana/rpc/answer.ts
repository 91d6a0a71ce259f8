import { setImmediate } from 'node:timers/promises';
import { parse } from 'lossless-json';
import { z } from 'zod';

// Integers below 9 * 10^15 are exact in a double, so only larger ones need the slow parser. A number outside a string
// is at the start of the text, or follows one of the listed characters.
const LARGE_INTEGER = /(?:^|[\s:,[-])(?:[0-9]{17}|9[0-9]{15})/;

function readNumber(text: string): number | bigint {
  if (!/^-?[0-9]+$/.test(text)) return Number(text);
  const number = Number(text);
  return Number.isSafeInteger(number) ? number : BigInt(text);
}

/** Parses JSON without loss: unsafe integers (beyond 2^53) become bigint, other numbers number. Throws SyntaxError. */
export function parseJson(text: string): unknown {
  return LARGE_INTEGER.test(text) ? parse(text, undefined, readNumber) : JSON.parse(text);
}

/** Longest answer that is parsed in one step, which blocks the event loop. */
export const MAX_PARSED_BYTES = 8 * 1_024 * 1_024;
const PART_BYTES = 1_024 * 1_024;

/** Yields the bytes in parts of 1 MiB. The event loop runs between two parts. */
export async function* inParts(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += PART_BYTES) {
    yield bytes.subarray(at, at + PART_BYTES);
    await setImmediate();
  }
}

export const envelope = z.object({
  id: z.unknown(),
  result: z.unknown().optional(),
  error: z.object({ code: z.number(), message: z.string(), data: z.unknown().optional() }).optional(),
});

/** Phrases of providers for a request limit. No error message of a validator matches. */
const REQUEST_LIMIT =
  /\b(?:rate[ -]?limit(?:ed)?|request(?:s)? limit|too many requests|requests? per (?:second|minute|day)|per second capacity|(?:request|usage|credit|daily|monthly)s? (?:limit|quota))/i;

const errorWithMessage = z.object({ message: z.string() });
const refusalAnswer = z.object({
  error: z.union([z.string(), errorWithMessage]).optional(),
  message: z.string().optional(),
});

/**
 * The message of an answer that reports a request limit; null for any other answer. Providers send such a message
 * with HTTP status 200 and any JSON-RPC code, even that of a skipped slot (-32007), and some omit the envelope. So
 * only the message is checked.
 */
export function requestLimitOf(answer: unknown): string | null {
  const { data } = refusalAnswer.safeParse(answer);
  if (data === undefined || (typeof answer === 'object' && answer !== null && 'result' in answer))
    return null;
  const { error, message = '' } = data;
  const text = typeof error === 'string' ? error : (error?.message ?? message);
  return REQUEST_LIMIT.test(text) ? text : null;
}

/** Longer than the part of the envelope that nodes send before or after a result. */
const ENVELOPE_BYTES = 256;
const MEMBER = String.raw`"(?:jsonrpc|id)"\s*:\s*(?:"2\.0"|[0-9]+)`;
const ENVELOPE_START = new RegExp(String.raw`^\s*\{\s*(?:${MEMBER}\s*,\s*)*"result"\s*:\s*\{`);
const ENVELOPE_END = new RegExp(String.raw`\}\s*(?:,\s*${MEMBER}\s*)*,\s*"id"\s*:\s*([0-9]+)\s*\}\s*$`);

/**
 * True if the start and end of the answer prove that it contains a complete result object for request `id`. The
 * result itself is not read. False if only parsing can decide.
 */
export function isWholeResult(answer: Buffer, id: number): boolean {
  const head = answer.toString('latin1', 0, ENVELOPE_BYTES);
  const tail = answer.toString('latin1', Math.max(0, answer.length - ENVELOPE_BYTES));
  return ENVELOPE_START.test(head) && ENVELOPE_END.exec(tail)?.[1] === String(id);
}
