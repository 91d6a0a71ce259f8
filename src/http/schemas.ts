import { z } from 'zod';
import { ADDRESS_TEXT } from '../domain/address.ts';
import { U64_MAX } from '../domain/amount.ts';
import { CURSOR_FORMAT } from '../ledger/page.ts';

/** A time in a response, sent as ISO 8601. */
export const time = z
  .union([z.date(), z.string()])
  .transform((at) => (typeof at === 'string' ? at : at.toISOString()))
  .pipe(z.string().meta({ format: 'date-time' }));

export const text = (description: string) => z.string().describe(description);
export const textOrNull = (description: string) => z.string().nullable().describe(description);

const HOURS = '([01][0-9]|2[0-3])';
const SIXTIETH = '[0-5][0-9]';
const DATE = '[12][0-9]{3}-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])';
const ZONE = `(Z|[+-]${HOURS}:${SIXTIETH})`;

/** A time in a request. A date alone is its beginning in UTC. */
export const timeParam = z
  .string()
  .regex(
    new RegExp(`^${DATE}(T${HOURS}:${SIXTIETH}:${SIXTIETH}([.][0-9]{1,9})?${ZONE})?$`),
    'must be a date such as 2026-11-01, or a time such as 2026-11-01T12:00:00Z',
  )
  .transform((at) => new Date(at));

/** A number in a response, sent as a decimal string. */
export const decimal = (format: z.ZodString) =>
  z.union([z.bigint(), z.string()]).transform(String).pipe(format);

/** A slot, height, sequence or amount in a response. */
export const u64 = decimal(z.string().meta({ pattern: '^[0-9]{1,20}$' }));

/** Pattern of the whole numbers from 1 to `max` without leading zeros. */
export function patternUpTo(max: bigint): string {
  const digits = max.toString();
  const lowerNumbers = digits.split('').flatMap((digit, at) => {
    const [minDigit, maxDigit] = [at === 0 ? 1 : 0, Number(digit) - 1];
    const digitsAfter = digits.length - at - 1;
    return maxDigit < minDigit
      ? []
      : [`${digits.slice(0, at)}[${minDigit}-${maxDigit}][0-9]{${digitsAfter}}`];
  });
  return `([1-9][0-9]{0,${digits.length - 2}}|${[...lowerNumbers, digits].join('|')})`;
}

/** Pattern of an amount, only for the OpenAPI document: each route validates its amounts. */
export const amountPattern = `^${patternUpTo(U64_MAX)}$`;

/** RFC 9457 problem document: the body of every response with status 400 or above. Further fields depend on `code`. */
export const ProblemBody = z
  .looseObject({
    type: text('URN of this kind of error; ends in `code`'),
    title: text('Short description of this kind of error, for display'),
    status: z.int().describe('HTTP status code of the response'),
    detail: text('What happened in this request, for display'),
    code: text('Stable identifier of the error, for programs'),
  })
  .meta({ id: 'Problem' });

/** A slot or sequence number in a request. Below 10^18, so that it fits into a bigint of PostgreSQL. */
export const position = z
  .string()
  .regex(/^(0|[1-9][0-9]{0,17})$/, 'must be a whole number below 10^18, as a decimal string')
  .transform(BigInt);

/** Swaps the ends of a slot range if `from` is above `to`, so that callers can pass them in either order. */
export function inOrder<Range extends { readonly from: bigint; readonly to: bigint }>(range: Range): Range {
  const { from, to } = range;
  return from <= to ? range : { ...range, from: to, to: from };
}

const MAX_POSITIONS = 10_000;
/** Maximum size of a position in indented JSON, with a margin. */
const MAX_POSITION_BYTES = 32;

/** Positions of alerts in a request. A route that accepts them needs {@link POSITIONS_BODY_LIMIT}. */
export const positions = z.array(position).max(MAX_POSITIONS);
export const POSITIONS_BODY_LIMIT = MAX_POSITIONS * MAX_POSITION_BYTES;

const MAX_REASON_LENGTH = 500;

export const reason = z
  .string()
  // JSON schema counts code points, before the text is trimmed.
  .refine(
    (value) => Array.from(value).length <= MAX_REASON_LENGTH,
    `must have at most ${MAX_REASON_LENGTH} characters`,
  )
  .trim()
  .min(1)
  .refine((value) => !value.includes('\0'), 'must not contain a NUL character')
  .meta({ pattern: '^[^\\u0000]*[^\\s\\u0000][^\\u0000]*$', maxLength: MAX_REASON_LENGTH })
  .describe('Reason for this action, stored with the name of the API key');

/** The body of an action that needs only a reason. */
export const ReasonBody = z.strictObject({ reason });

/** Checks only the format: each route checks whether the address is known. */
export const addressParam = z.string().regex(ADDRESS_TEXT, 'must be a base58 address');

/** Checks only the format: each route checks whether the asset is listed. */
export const assetParam = z
  .string()
  .regex(/^(SOL|[1-9A-HJ-NP-Za-km-z]{32,44})$/, 'must be `SOL`, or the base58 address of a mint')
  .describe('`SOL` or the address of a mint');

/** Checks only the format: each route checks whether the id exists. */
export const idParam = z.string().regex(/^[\x21-\x7e]{1,128}$/, 'must be 1 to 128 visible ASCII characters');

/** Up to 256 characters: the longest id has a kind, two addresses and slashes. A withdrawal id has at most 128. */
export const settlementId = z
  .string()
  .regex(/^[\x21-\x7e]{1,256}$/, 'must be 1 to 256 visible ASCII characters');

export const userRef = idParam.describe(
  'Your id for the user. It is permanent: the same id always has the same deposit address',
);

export const WarningBody = z
  .object({
    code: text('Stable identifier of the warning, for programs'),
    message: text('Explanation of the warning, for display'),
  })
  .meta({ id: 'Warning' });

export const PROBLEM_TYPE = 'application/problem+json';

const problem = (description: string) => ({
  description,
  content: { [PROBLEM_TYPE]: { schema: ProblemBody } },
});

export const problems = {
  '4xx': problem(
    'The request is refused. 400: the request does not match the schema. 409: the request matches the schema, but the database, the settings or the chain forbid it.',
  ),
  '5xx': problem(
    'The request may have taken effect. It is safe to repeat; a temporary error has the header `Retry-After` (seconds).',
  ),
};

export const nextCursor = textOrNull('Value of `cursor` for the next page; null on the last page');

export const pageQuery = {
  cursor: z
    .string()
    .regex(CURSOR_FORMAT, 'must be the `nextCursor` of the previous page')
    .optional()
    .describe('`nextCursor` of the previous page'),
  limit: z.coerce.number().int().min(1).max(200).default(50).describe('Maximum number of items in the page'),
};

export const HealthBody = z
  .object({
    status: z.enum(['ok', 'unavailable']).describe('`ok` if PostgreSQL and Temporal respond'),
    database: z.boolean().describe('Whether PostgreSQL responds'),
    temporal: z.boolean().describe('Whether Temporal responds'),
  })
  .meta({ id: 'Health' });
