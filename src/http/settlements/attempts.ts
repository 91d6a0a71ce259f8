import { z } from 'zod';
import { type ExplorerSettings, explorerLink } from '../../domain/explorer.ts';
import type { AttemptRow } from '../../ledger/settlements/attempts.ts';
import { decimal, text, textOrNull, time, u64 } from '../schemas.ts';
import { EvidenceBody, proofsOf } from './evidence-schemas.ts';

export const AttemptBody = z
  .object({
    n: z
      .int()
      .positive()
      .describe(
        'Number of the attempt, from 1. The next attempt is made only after this one is proved dead or failed',
      ),
    state: z
      .enum(['prepared', 'signed', 'landed', 'failed', 'dead'])
      .describe('An attempt that is `prepared` or `signed` may still land'),
    signature: textOrNull('Transaction signature in base58; null until the attempt is signed'),
    blockhash: text('Blockhash of the transaction, or the value of `nonceAccount`'),
    lastValidBlockHeight: decimal(z.string())
      .nullable()
      .describe(
        'Last block height at which the transaction can land; null for a durable nonce, which has no such height',
      ),
    nonceAccount: textOrNull('Durable nonce account of the transaction; null if it uses a recent blockhash'),
    feeLamports: decimal(z.string()).describe(
      'Maximum fee until the attempt has landed, then the fee that was charged',
    ),
    rentLamports: decimal(z.string()).describe(
      'Rent that the transaction pays for the token account of the receiver',
    ),
    slot: decimal(z.string())
      .nullable()
      .describe('Slot of the finalized block with the transaction; null until then'),
    error: textOrNull('Decoded program error of a failed transaction, else null'),
    explorer: textOrNull('URL of the transaction in a block explorer; null until the attempt is signed'),
    proof: EvidenceBody.nullable().describe('Evidence for the verdict; null until there is a verdict'),
    messageProof: EvidenceBody.nullable().describe(
      'For a dead attempt after the database was restored from a backup: evidence that its message has not landed with any other signature',
    ),
    createdAt: time.describe('Time of preparation'),
  })
  .readonly()
  .meta({ id: 'Attempt' });

const { state, signature } = AttemptBody.unwrap().shape;

export const ExplainedBody = z
  .object({
    n: z.int().positive().describe('Number of the attempt, from 1'),
    state,
    signature,
    blockhash: text('Blockhash of the transaction, or the value of its durable nonce'),
    slot: u64.nullable().describe('Slot of the block with the transaction; null until a block is stored'),
    verdict: z
      .enum(['landed', 'failed', 'alive', 'dead', 'unknown'])
      .describe('Current verdict. Only `dead` and some `failed` attempts are followed by another'),
    reason: textOrNull('Why the verdict is `unknown`, or the error of a `failed` transaction; else null'),
    missing: z
      .array(
        z.object({
          node: textOrNull('Name of the node; null if it does not depend on one node'),
          what: text('Missing evidence, for display'),
        }),
      )
      .readonly()
      .describe('Evidence that a final verdict still needs'),
    evidence: EvidenceBody.nullable().describe(
      'Node answers now, or those stored with the final verdict; null if no node could be asked, or none are stored',
    ),
  })
  .meta({ id: 'ExplainedAttempt' });

export function presentAttempt(row: AttemptRow, explorer: ExplorerSettings) {
  const link = row.signature === null ? null : explorerLink(row.signature, explorer);
  return { ...row, explorer: link, ...proofsOf(row) };
}
