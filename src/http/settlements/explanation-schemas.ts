import { z } from 'zod';
import { ABOUT_SETTLEMENT } from '../../domain/alerts.ts';
import { time, u64 } from '../schemas.ts';
import { AttemptBody, Reason, Status, termsFields } from '../withdrawals/withdrawal-schemas.ts';
import { EvidenceBody } from './evidence-schemas.ts';
import { settlementFields } from './settlement-schemas.ts';

const { state, signature } = AttemptBody.unwrap().shape;

export const ExplainedBody = z
  .object({
    n: z.int().positive().describe('Number of the attempt, from 1'),
    state,
    signature,
    blockhash: z.string().describe('Blockhash of the transaction, or the value of its durable nonce'),
    slot: u64.nullable().describe('Slot of the block with the transaction; null until a block is stored'),
    verdict: z
      .enum(['landed', 'failed', 'alive', 'dead', 'unknown'])
      .describe('Current verdict. Only `dead` and some `failed` attempts are followed by another'),
    reason: z
      .string()
      .nullable()
      .describe('Why the verdict is `unknown`, or the error of a `failed` transaction; else null'),
    missing: z
      .array(
        z.object({
          node: z.string().nullable().describe('Name of the node; null if it does not depend on one node'),
          what: z.string().describe('Missing evidence, for display'),
        }),
      )
      .readonly()
      .describe('Evidence that a final verdict still needs'),
    evidence: EvidenceBody.nullable().describe(
      'Node answers now, or those stored with the final verdict; null if no node could be asked, or none are stored',
    ),
  })
  .meta({ id: 'ExplainedAttempt' });

const facts = {
  waitsFor: z.string().describe('What the settlement waits for, for display'),
  nextStep: z.string().describe('Next step, for display'),
  attempt: ExplainedBody.nullable().describe(
    'Attempt that may still land, else the last attempt; null if there is none',
  ),
};

export const ExplanationBody = z
  .object({
    id: z.string().describe('Your id of the withdrawal'),
    status: Status.describe('Current status'),
    reason: Reason,
    ...facts,
  })
  .meta({ id: 'Explanation' });

export const SettlementExplanationBody = z
  .object({
    terms: z
      .object(termsFields)
      .nullable()
      .describe('Asset, amount and destination of a withdrawal; null for other kinds'),
    ...settlementFields,
    ...facts,
    attempts: z.array(AttemptBody).readonly().describe('All attempts, oldest first'),
    alerts: z
      .array(
        z.object({
          position: u64.describe('Position of the alert, for `POST /v1/resume` and `POST /v1/alerts/seen`'),
          kind: z.enum(ABOUT_SETTLEMENT).describe('Kind of alert'),
          message: z.string().describe('Explanation, for display'),
          raisedAt: time.describe('Time at which the alert was raised'),
        }),
      )
      .readonly()
      .describe('Open alerts about this settlement, newest first'),
  })
  .meta({ id: 'SettlementExplanation' });
