import { z } from 'zod';
import type { Warning } from '../client/deposit-addresses.ts';
import { ADDRESS_TEXT } from '../domain/address.ts';
import { CURSOR } from '../ledger/page.ts';

/** ISO-8601, as every answer gives times. */
export const time = z.string().meta({ format: 'date-time' });

/** A slot, height, sequence or amount as a decimal string. */
export const u64 = z.string().meta({ pattern: '^[0-9]{1,20}$' });

/** RFC 9457 document of every answer of 400 and above; fields of its own name the thing at fault. */
export const ProblemBody = z
  .looseObject({
    type: z.string().describe('A URN that ends in `code`'),
    title: z.string().describe('What kind of failure it is, for people'),
    status: z.int().describe('The HTTP status'),
    detail: z.string().describe('What is wrong here, for people'),
    code: z.string().describe('Stable, for programs'),
  })
  .meta({ id: 'Problem' });

/** A slot or sequence that a caller names; PostgreSQL holds 63 bits. */
export const position = z
  .string()
  .regex(/^(0|[1-9][0-9]{0,17})$/, 'must be a whole number below 10^18, as a decimal string')
  .transform(BigInt);

/** For `refine` of two slots, both ends included; of what are no slots it says nothing. */
export const inOrder = ({ from, to }: { readonly from: bigint; readonly to: bigint }): boolean => from <= to;
export const outOfOrder = {
  error: 'must not be below `from`',
  path: ['to'],
  when: ({ issues }: { readonly issues: readonly unknown[] }): boolean => issues.length === 0,
};

/** Why an operator asks for something. */
export const why = z
  .string()
  .trim()
  .min(1)
  .max(500)
  .refine((text) => !text.includes('\0'), 'must not hold the character NUL')
  .describe('For whoever asks later');

/** base58 of about 32 bytes; whether we know it is another question. */
export const addressParam = z.string().regex(ADDRESS_TEXT, 'must be a base58 address');

/** Whether it is among our assets is another question. */
export const assetParam = z
  .string()
  .regex(/^(SOL|[1-9A-HJ-NP-Za-km-z]{32,44})$/, 'must be `SOL`, or the base58 address of a mint')
  .describe('`SOL`, or the address of a mint');

/** Whether it names anything is another question. */
export const idParam = z.string().regex(/^[\x21-\x7e]{1,128}$/, 'must be 1 to 128 visible ASCII characters');

/** Your own name of a user. */
export const userRef = idParam.describe('Your id of the user, for ever: the same one has the same address');

/** {@link Warning} as the OpenAPI document shows it. */
export const WarningBody = z
  .object({
    code: z.string().describe('Stable, for programs'),
    message: z.string().describe('For people'),
  })
  .meta({ id: 'Warning' }) satisfies z.ZodType<Warning>;

/** The answers of a route that are problems. */
export const problems = { '4xx': ProblemBody, '5xx': ProblemBody };

/** The end of a page. */
export const nextCursor = z
  .string()
  .nullable()
  .describe('Pass it as `cursor` for the next page; null on the last one');

/** The part of a query that chooses a page of a list. */
export const pageQuery = {
  cursor: z
    .string()
    .regex(CURSOR, 'must be the `nextCursor` of the page before')
    .optional()
    .describe('`nextCursor` of the page before'),
  limit: z.coerce.number().int().min(1).max(200).default(50),
};

export const HealthBody = z
  .object({
    status: z.enum(['ok', 'unavailable']).describe('`ok` where all of these answer'),
    database: z.boolean().describe('Whether PostgreSQL answers'),
    temporal: z.boolean().describe('Whether Temporal answers'),
  })
  .meta({ id: 'Health' });
