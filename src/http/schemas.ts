import { z } from 'zod';
import type { Warning } from '../client/deposit-addresses.ts';
import type { AttemptEvidence, ShownBlock } from '../client/evidence.ts';
import type { Attempt, Withdrawal, WithdrawalPage, WithdrawalSummary } from '../client/types.ts';
import { ADDRESS_TEXT } from '../domain/address.ts';
import { WITHDRAWAL_ID } from '../domain/terms.ts';
import { WITHDRAWAL_STATUSES } from '../domain/withdrawal.ts';
import { CURSOR } from '../ledger/page.ts';
import { plainWords } from './words.ts';

// Every schema of a request is made of what is here, and its parser takes no words of its own.
z.config({ customError: plainWords });

const address = z
  .string()
  .meta({ description: 'base58, 32 bytes', examples: ['9xQeWvG816bUx9EPjHmaT23yvVM2ZWbrrpZb9PusVFin'] });
const baseUnits = z.string().meta({
  description: 'Base units (lamports, or the token’s smallest unit) as a decimal string, 1 to 2^64-1',
  pattern: '^[1-9][0-9]{0,19}$',
  examples: ['1500000000'],
});
/** ISO-8601, as every answer gives times. */
export const time = z.string().meta({ format: 'date-time' });

/** Body of POST /v1/withdrawals as the OpenAPI document shows it; `checkTerms` is its one judge. */
export const TermsBody = z
  .strictObject({
    id: z.string().meta({
      description: 'Your id of this withdrawal, for ever: the same id never pays twice',
      pattern: WITHDRAWAL_ID.source,
    }),
    asset: z.string().meta({ description: '`SOL` or the base58 address of a mint' }),
    amount: baseUnits,
    destination: address.meta({ description: 'Wallet of the receiver, base58; never a token account' }),
    acceptEmptyWallet: z.boolean().optional().meta({
      description: 'Pay a wallet that holds nothing yet without asking for a confirmation',
      default: false,
    }),
    memo: z.string().optional().meta({ description: 'Written to the chain; at most 200 bytes of UTF-8' }),
  })
  .meta({ id: 'WithdrawalTerms' });

/** {@link WithdrawalStatus} by its name. */
export const Status = z.enum(WITHDRAWAL_STATUSES).meta({ id: 'WithdrawalStatus' });

/** Why a withdrawal is where it is. */
export const Reason = z
  .object({ code: z.string().meta({ description: 'Stable, for programs' }), message: z.string() })
  .nullable();

/** A slot, height, sequence or amount as a decimal string. */
export const u64 = z.string().meta({ pattern: '^[0-9]{1,20}$' });
const nodeNames = z.array(z.string()).readonly();
const order = z
  .int()
  .meta({ description: 'What was asked later in one investigation has the greater number' });
const answered = { node: z.string(), order };
const shownBlock = z.object({ slot: u64, blockhash: z.string(), height: u64, nodes: nodeNames }).meta({
  id: 'ShownBlock',
  description: 'A finalized block, and the nodes that show exactly this slot, hash and height',
}) satisfies z.ZodType<ShownBlock>;

/** {@link AttemptEvidence} as the OpenAPI document shows it. */
export const EvidenceBody = z
  .object({
    askedAt: time.nullable(),
    judgedAt: time.nullable(),
    quorum: z.int().meta({ description: 'Nodes that must agree' }),
    lastHeight: u64
      .nullable()
      .meta({ description: 'The last block height at which it could land; null for a durable nonce' }),
    finalizedHeights: z.array(z.object({ ...answered, height: u64 })).readonly(),
    stillTaking: nodeNames.meta({ description: 'Nodes whose finalized bank still takes the blockhash' }),
    blockhashBlock: shownBlock.nullable().meta({ description: 'The block of its blockhash' }),
    displacedBy: z
      .object({ slot: u64, parentSlot: u64, block: shownBlock, order })
      .nullable()
      .meta({ description: 'What a fork left at or after the slot of that block' }),
    linkedBlocks: z
      .object({ first: shownBlock, last: shownBlock, holdsSignature: z.boolean(), witnesses: z.int(), order })
      .nullable()
      .meta({
        description:
          'Finalized blocks, each linked to its parent by slot, hash and height, and shown with the same transactions by at least so many witnesses',
      }),
    finalizedNonces: z.array(z.object({ ...answered, nonce: z.string() })).readonly(),
    nonceUsedBy: z
      .object({ signature: z.string(), slot: u64, carriedNonce: z.boolean(), nodes: nodeNames, order })
      .nullable(),
    statuses: z
      .array(
        z.object({
          ...answered,
          seen: z.enum(['absent', 'processed', 'confirmed', 'finalized', 'unreadable']),
          slot: u64.nullable(),
          error: z.string().nullable(),
          atSlot: u64.nullable().meta({ description: 'The slot that the node had come to when it answered' }),
          historyFrom: u64.nullable().meta({
            description: 'The first block of the history in which the transaction was looked for in vain',
          }),
        }),
      )
      .readonly(),
    outcomeConfirmedBy: nodeNames,
    chargedBy: nodeNames,
  })
  .readonly()
  .meta({
    id: 'AttemptEvidence',
    description: 'What a verdict on an attempt rests on: heights or nonces, then blocks, then statuses',
  }) satisfies z.ZodType<AttemptEvidence>;

const AttemptBody = z
  .object({
    n: z.int().positive(),
    state: z.enum(['prepared', 'signed', 'landed', 'failed', 'dead']),
    signature: z.string().nullable(),
    blockhash: z.string(),
    lastValidBlockHeight: z.string().nullable(),
    nonceAccount: z.string().nullable(),
    feeLamports: z.string(),
    rentLamports: z.string(),
    slot: z.string().nullable(),
    error: z.string().nullable(),
    explorer: z.string().nullable(),
    proof: EvidenceBody.nullable().meta({ description: 'What its verdict rests on; null before one' }),
    messageProof: EvidenceBody.nullable().meta({
      description:
        'Of a dead one, where the record was restored since: what proves that its message has not landed under any other signature either',
    }),
    createdAt: time,
  })
  .readonly()
  .meta({ id: 'Attempt' }) satisfies z.ZodType<Attempt>;

const summaryFields = {
  id: z.string(),
  status: Status,
  reason: Reason,
  asset: z.string(),
  amount: baseUnits,
  amountReceived: z.string().nullable(),
  destination: z.string(),
  acceptEmptyWallet: z.boolean(),
  memo: z.string().nullable(),
  confirmedByCustomer: z.boolean(),
  workflowId: z.string(),
  createdAt: time,
  updatedAt: time,
  links: z.object({ self: z.string(), confirm: z.string(), cancel: z.string() }),
};

const SummaryBody = z
  .object(summaryFields)
  .meta({ id: 'WithdrawalSummary' }) satisfies z.ZodType<WithdrawalSummary>;

/** A withdrawal with its attempts: the answer of every route about one withdrawal. */
export const WithdrawalBody = z
  .object({ ...summaryFields, attempts: z.array(AttemptBody).readonly() })
  .meta({ id: 'Withdrawal' }) satisfies z.ZodType<Withdrawal>;

/** One page of GET /v1/withdrawals. */
export const PageBody = z
  .object({ withdrawals: z.array(SummaryBody).readonly(), nextCursor: z.string().nullable() })
  .meta({ id: 'WithdrawalPage' }) satisfies z.ZodType<WithdrawalPage>;

/** RFC 9457 document of every answer of 400 and above; fields of its own name the thing at fault. */
export const ProblemBody = z
  .looseObject({
    type: z.string(),
    title: z.string(),
    status: z.int(),
    detail: z.string(),
    code: z.string(),
  })
  .meta({ id: 'Problem' });

export const IdParams = z.object({ id: z.string().regex(WITHDRAWAL_ID) });

/** A slot or sequence that a caller names; PostgreSQL holds 63 bits. */
export const position = z
  .string()
  .regex(/^(0|[1-9][0-9]{0,17})$/, 'must be a whole number below 10^18, as a decimal string')
  .transform(BigInt);

/** Why an operator asks for something. */
export const why = z
  .string()
  .trim()
  .min(1)
  .max(500)
  .refine((text) => !text.includes('\0'), 'must not hold the character NUL')
  .meta({ description: 'For whoever asks later' });

/** base58 of about 32 bytes; whether we know it is another question. */
export const addressParam = z.string().regex(ADDRESS_TEXT, 'must be a base58 address');

/** Whether it is among our assets is another question. */
export const assetParam = z
  .string()
  .regex(/^(SOL|[1-9A-HJ-NP-Za-km-z]{32,44})$/, 'must be `SOL`, or the base58 address of a mint')
  .meta({ description: '`SOL`, or the address of a mint' });

/** Whether it names anything is another question. */
export const idParam = z.string().regex(/^[\x21-\x7e]{1,128}$/, 'must be 1 to 128 visible ASCII characters');

/** Your own name of a user. */
export const userRef = idParam.meta({
  description: 'Your id of the user, for ever: the same one has the same address',
});

/** {@link Warning} as the OpenAPI document shows it. */
export const WarningBody = z
  .object({ code: z.string().meta({ description: 'Stable, for programs' }), message: z.string() })
  .meta({ id: 'Warning' }) satisfies z.ZodType<Warning>;

/** The answers of a route that are problems. */
export const problems = { '4xx': ProblemBody, '5xx': ProblemBody };

/** The part of a query that chooses a page of a list. */
export const pageQuery = {
  cursor: z
    .string()
    .regex(CURSOR, 'must be the `nextCursor` of the page before')
    .optional()
    .meta({ description: '`nextCursor` of the page before' }),
  limit: z.coerce.number().int().min(1).max(200).default(50),
};

const visible = z.string().regex(/^[\x21-\x7e]{1,512}$/);

export const ListQuery = z.strictObject({
  status: z.enum(WITHDRAWAL_STATUSES).optional(),
  asset: visible.optional(),
  destination: visible.optional(),
  ...pageQuery,
});

export const HealthBody = z
  .object({ status: z.enum(['ok', 'unavailable']), database: z.boolean(), temporal: z.boolean() })
  .meta({ id: 'Health' });
