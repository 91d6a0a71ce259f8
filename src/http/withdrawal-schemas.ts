import { z } from 'zod';
import type { Attempt, Withdrawal, WithdrawalPage, WithdrawalSummary } from '../client/types.ts';
import { WITHDRAWAL_ID } from '../domain/terms.ts';
import { WITHDRAWAL_STATUSES } from '../domain/withdrawal.ts';
import { EvidenceBody } from './evidence-schemas.ts';
import { nextCursor, pageQuery, time } from './schemas.ts';

const address = z
  .string()
  .meta({ description: 'base58, 32 bytes', examples: ['9xQeWvG816bUx9EPjHmaT23yvVM2ZWbrrpZb9PusVFin'] });
const baseUnits = z.string().meta({
  description: 'Base units (lamports, or the token’s smallest unit) as a decimal string, 1 to 2^64-1',
  pattern: '^[1-9][0-9]{0,19}$',
  examples: ['1500000000'],
});

/** Body of POST /v1/withdrawals as the OpenAPI document shows it; `checkTerms` is its one judge. */
export const TermsBody = z
  .strictObject({
    id: z.string().meta({
      description: 'Your id of this withdrawal, for ever: the same id never pays twice',
      pattern: WITHDRAWAL_ID.source,
    }),
    asset: z.string().describe('`SOL` or the base58 address of a mint'),
    amount: baseUnits,
    destination: address.describe('Wallet of the receiver, base58; never a token account'),
    acceptEmptyWallet: z.boolean().optional().meta({
      description: 'Pay a wallet that holds nothing yet without asking for a confirmation',
      default: false,
    }),
    memo: z.string().optional().describe('Written to the chain; at most 200 bytes of UTF-8'),
  })
  .meta({ id: 'WithdrawalTerms' });

/** {@link WithdrawalStatus} by its name. */
export const Status = z.enum(WITHDRAWAL_STATUSES).meta({ id: 'WithdrawalStatus' });

/** Why a withdrawal is where it is. */
export const Reason = z
  .object({
    code: z.string().describe('Stable, for programs'),
    message: z.string().describe('For people'),
  })
  .nullable()
  .describe('Why it is where it is; null where there is nothing to say');

/** {@link Attempt} as the OpenAPI document shows it. */
export const AttemptBody = z
  .object({
    n: z.int().positive().describe('1 for the first; a second exists only after the first was proved dead'),
    state: z
      .enum(['prepared', 'signed', 'landed', 'failed', 'dead'])
      .describe('`prepared` and `signed` may still land'),
    signature: z.string().nullable().describe('base58; null until it is signed'),
    blockhash: z
      .string()
      .describe('What the transaction carries: a blockhash, or the value of `nonceAccount`'),
    lastValidBlockHeight: z
      .string()
      .nullable()
      .describe('Null for a durable nonce, which does not expire by height'),
    nonceAccount: z
      .string()
      .nullable()
      .describe('The durable nonce account that gives it its lifetime; null where a blockhash does'),
    feeLamports: z.string().describe('The most it may cost until it has landed, then what it did cost'),
    rentLamports: z.string().describe('What it pays to create the receiver’s token account'),
    slot: z.string().nullable().describe('Slot of the finalized block that carries it; null before'),
    error: z.string().nullable().describe('The decoded program error of a failed one, else null'),
    explorer: z
      .string()
      .nullable()
      .describe('Page of the transaction in a block explorer; null until it is signed'),
    proof: EvidenceBody.nullable().describe('What its verdict rests on; null before one'),
    messageProof: EvidenceBody.nullable().describe(
      'Of a dead one, where the record was restored since: what proves that its message has not landed under any other signature either',
    ),
    createdAt: time.describe('When it was prepared'),
  })
  .readonly()
  .meta({ id: 'Attempt' }) satisfies z.ZodType<Attempt>;

/** What a withdrawal pays, and to whom. */
export const termsFields = {
  asset: z.string().describe('`SOL`, or the address of a mint'),
  amount: baseUnits.describe('Base units that leave the hot wallet'),
  destination: z.string().describe('Wallet of the receiver'),
};

const summaryFields = {
  id: z.string().describe('Your id of it'),
  status: Status.describe('How far it is'),
  reason: Reason,
  ...termsFields,
  amountReceived: z
    .string()
    .nullable()
    .describe(
      'What the receiver got, once finalized; less than `amount` for tokens with a transfer fee; null before',
    ),
  acceptEmptyWallet: z.boolean().describe('Whether a wallet that holds nothing yet is paid without asking'),
  memo: z.string().nullable().describe('Written to the chain; null where there is none'),
  confirmedByCustomer: z.boolean().describe('Whether the customer has said to pay all the same'),
  workflowId: z.string().describe('Id of the Temporal workflow that pays it'),
  createdAt: time.describe('When it was asked for'),
  updatedAt: time.describe('When it last changed'),
  links: z
    .object({
      self: z.string().describe('Of the withdrawal'),
      confirm: z.string().describe('To POST that it is to be paid all the same'),
      cancel: z.string().describe('To POST that it is not to be paid'),
    })
    .describe('Paths on this API'),
};

const SummaryBody = z
  .object(summaryFields)
  .meta({ id: 'WithdrawalSummary' }) satisfies z.ZodType<WithdrawalSummary>;

/** A withdrawal with its attempts: the answer of every route about one withdrawal. */
export const WithdrawalBody = z
  .object({ ...summaryFields, attempts: z.array(AttemptBody).readonly().describe('Oldest first') })
  .meta({ id: 'Withdrawal' }) satisfies z.ZodType<Withdrawal>;

/** One page of GET /v1/withdrawals. */
export const PageBody = z
  .object({ withdrawals: z.array(SummaryBody).readonly().describe('Newest first'), nextCursor })
  .meta({ id: 'WithdrawalPage' }) satisfies z.ZodType<WithdrawalPage>;

export const IdParams = z.object({ id: z.string().regex(WITHDRAWAL_ID) });

const visible = z.string().regex(/^[\x21-\x7e]{1,512}$/);

export const ListQuery = z.strictObject({
  status: z.enum(WITHDRAWAL_STATUSES).optional(),
  asset: visible.optional(),
  destination: visible.optional(),
  ...pageQuery,
});
