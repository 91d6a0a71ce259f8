import { z } from 'zod';

export const envelope = z.object({
  id: z.unknown(),
  result: z.unknown().optional(),
  error: z.object({ code: z.number(), message: z.string(), data: z.unknown().optional() }).optional(),
});

/** Request limits in the wording of providers. No validator message matches. */
const REQUEST_LIMIT =
  /\b(?:rate[ -]?limit(?:ed)?|request(?:s)? limit|too many requests|requests? per (?:second|minute|day)|per second capacity|(?:request|usage|credit|daily|monthly)s? (?:limit|quota))/i;

const refused = z.object({ message: z.string() });
const refusal = z.object({
  error: z.union([z.string(), refused]).optional(),
  message: z.string().optional(),
});

/**
 * The message of an answer that reports a request limit; null for any other answer. Providers send it with HTTP
 * status 200 and any JSON-RPC code, even that of a skipped slot (-32007). Some leave out the envelope. So the message
 * decides, not the code.
 */
export function requestLimitOf(answer: unknown): string | null {
  const { data } = refusal.safeParse(answer);
  if (data === undefined || (typeof answer === 'object' && answer !== null && 'result' in answer))
    return null;
  const { error, message = '' } = data;
  const text = typeof error === 'string' ? error : (error?.message ?? message);
  return REQUEST_LIMIT.test(text) ? text : null;
}

/** More bytes than nodes put before or after a result. */
const RIM_BYTES = 256;
const MEMBER = String.raw`"(?:jsonrpc|id)"\s*:\s*(?:"2\.0"|[0-9]+)`;
const BEFORE = new RegExp(String.raw`^\s*\{\s*(?:${MEMBER}\s*,\s*)*"result"\s*:\s*\{`);
const BEHIND = new RegExp(String.raw`\}\s*(?:,\s*${MEMBER}\s*)*,\s*"id"\s*:\s*([0-9]+)\s*\}\s*$`);

/**
 * True if the envelope of the answer, its outermost members, shows a complete object result for request `id`. The
 * result itself is not read. False if only a parse can decide.
 */
export function isWholeResult(answer: Buffer, id: number): boolean {
  const head = answer.toString('latin1', 0, RIM_BYTES);
  const tail = answer.toString('latin1', Math.max(0, answer.length - RIM_BYTES));
  return BEFORE.test(head) && BEHIND.exec(tail)?.[1] === String(id);
}
