import { z } from 'zod';

const change = z.number().transform(BigInt);
const units = z
  .string()
  .nullable()
  .transform((text) => (text === null ? null : BigInt(text)));

const tokenChange = z.object({
  account: z.string(),
  mint: z.string(),
  owner_before: z.string().nullable(),
  owner_after: z.string().nullable(),
  before: units,
  after: units,
});

const details = z.object({
  signature: z.string(),
  err: z.unknown(),
  fee: change,
  fee_payer: z.string(),
  native_changes: z.record(z.string(), change),
  token_changes: z.array(tokenChange),
});

const counted = z.object({
  form: z.enum(['envelope', 'result', 'list of envelopes']),
  encoding: z.string(),
  parentSlot: change.optional(),
  blockHeight: change.optional(),
  blockTime: change.optional(),
  transactions: z.number(),
  failed: z.number(),
  v0: z.number(),
  pre_token_entries: z.number(),
  post_token_entries: z.number(),
  fees: change,
  native_delta_sum: change,
  details: z.array(details).optional(),
});

/** A block whose answer holds no transactions: it must be refused. */
const unreadable = z.object({
  form: z.enum(['envelope', 'result', 'list of envelopes']),
  encoding: z.literal('(signatures only)'),
});

/** What is known of one recorded answer by plain arithmetic over its JSON, without any rule. */
export type Facts = z.infer<typeof counted>;
export type RecordedFacts = z.infer<typeof details>;
export type RecordForm = Facts['form'];

/** The facts of every file of blocks and transactions; null for a block that must be refused. */
export const factsOfFiles = z.record(z.string(), z.unknown()).transform((files) =>
  Object.entries(files)
    .filter(([name]) => /^(blocks|transactions)\//.test(name))
    .map(([name, facts]) => {
      const refused = unreadable.safeParse(facts);
      if (refused.success) return { name, form: refused.data.form, facts: null };
      const known = counted.parse(facts);
      return { name, form: known.form, facts: known };
    }),
);
