import { z } from 'zod';
import type { Explanation } from '../client/evidence.ts';
import type { SettlementExplanation } from '../client/settlements.ts';
import { ABOUT_SETTLEMENT } from '../domain/alerts.ts';
import { EvidenceBody } from './evidence-schemas.ts';
import { time, u64 } from './schemas.ts';
import { settlementFields } from './settlement-schemas.ts';
import { AttemptBody, Reason, Status, termsFields } from './withdrawal-schemas.ts';

/** What the nodes and the record say of a settlement, and what comes next. */
const facts = {
  waitsFor: z.string().describe('What it waits for, for people'),
  nextStep: z.string().describe('What comes next, for people'),
  attempt: z
    .object({
      n: z.int().positive().describe('Which attempt: 1 for the first'),
      state: z
        .enum(['prepared', 'signed', 'landed', 'failed', 'dead'])
        .describe('`prepared` and `signed` may still land'),
      signature: z.string().nullable().describe('base58; null until it is signed'),
      blockhash: z.string().describe('Its blockhash, or the value of its durable nonce'),
      slot: u64.nullable().describe('Slot of its block; null while no block is on record'),
      verdict: z
        .enum(['landed', 'failed', 'alive', 'dead', 'unknown'])
        .describe('Only `dead` allows another attempt'),
      why: z.string().nullable().describe('Why it is `unknown`, or the error of one that `failed`'),
      missing: z
        .array(
          z.object({
            node: z.string().nullable().describe('Null where no single node can tell'),
            what: z.string().describe('For people'),
          }),
        )
        .readonly()
        .describe('What a verdict that ends it still lacks, and from which node'),
      evidence: EvidenceBody.nullable().describe(
        'What the nodes say, or said when it ended; null where none could be asked, or nothing readable is on record',
      ),
    })
    .nullable()
    .describe('The one that may still land, else the last one; null where none was made'),
};

/** The answer about a withdrawal. */
export const ExplanationBody = z
  .object({
    id: z.string().describe('Your id of the withdrawal'),
    status: Status.describe('How far it is'),
    reason: Reason,
    ...facts,
  })
  .meta({ id: 'Explanation' }) satisfies z.ZodType<Explanation>;

/** The answer about a settlement of any kind. */
export const SettlementExplanationBody = z
  .object({
    terms: z
      .object(termsFields)
      .nullable()
      .describe('What a withdrawal pays; null for settlements of other kinds'),
    ...settlementFields,
    ...facts,
    attempts: z.array(AttemptBody).readonly().describe('All attempts, oldest first'),
    alerts: z
      .array(
        z.object({
          position: u64.describe('Names the alert to `POST /v1/resume` and `POST /v1/alerts/seen`'),
          kind: z.enum(ABOUT_SETTLEMENT).describe('What the alert says, for programs'),
          message: z.string().describe('One sentence for people'),
          raisedAt: time.describe('When the alert was raised'),
        }),
      )
      .readonly()
      .describe('Open alerts about this settlement, newest first'),
  })
  .meta({ id: 'SettlementExplanation' }) satisfies z.ZodType<SettlementExplanation>;
