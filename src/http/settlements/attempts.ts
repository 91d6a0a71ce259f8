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
        'Number of the attempt, starting at 1. Sluice prepares the next attempt only after this one has failed or is proved dead',
      ),
    state: z
      .enum(['prepared', 'signed', 'landed', 'failed', 'dead'])
      .describe('State of the attempt. While it is `prepared` or `signed`, its transaction can still land'),
    signature: textOrNull('Transaction signature in base58; null until the attempt is signed'),
    blockhash: text(
      'Blockhash of the transaction, or the nonce that a transaction with a durable nonce has in its place',
    ),
    lastValidBlockHeight: decimal(z.string())
      .nullable()
      .describe(
        'Last block height at which the transaction can land; null for a durable nonce, which has no such height',
      ),
    nonceAccount: textOrNull(
      'Durable nonce account of the transaction; null if the transaction uses a recent blockhash',
    ),
    feeLamports: decimal(z.string()).describe(
      'Fee in lamports: the charged fee if the transaction ran and nodes report it, otherwise the maximum',
    ),
    rentLamports: decimal(z.string()).describe(
      'Rent in lamports that the transaction pays to create the token account of the receiver; 0 if it creates none',
    ),
    slot: decimal(z.string())
      .nullable()
      .describe('Slot of the finalized block that contains the transaction; null if there is none yet'),
    error: textOrNull(
      'Error of a transaction that failed on chain, as the nodes report it; null for every other attempt',
    ),
    explorer: textOrNull('URL of the transaction in a block explorer; null until the attempt is signed'),
    proof: EvidenceBody.nullable().describe(
      'Evidence for the final verdict; null until the attempt has ended',
    ),
    messageProof: EvidenceBody.nullable().describe(
      'For a dead attempt after the database was restored from a backup: evidence that its message has not landed with any other signature. Null for every other attempt',
    ),
    createdAt: time.describe('Time at which the attempt was prepared'),
  })
  .readonly()
  .meta({ id: 'Attempt' });

const { state, signature } = AttemptBody.unwrap().shape;

export const ExplainedBody = z
  .object({
    n: z.int().positive().describe('Number of the attempt, starting at 1'),
    state,
    signature,
    blockhash: text(
      'Blockhash of the transaction, or the nonce that a transaction with a durable nonce has in its place',
    ),
    slot: u64
      .nullable()
      .describe('Slot of the finalized block that contains the transaction; null if none is stored'),
    verdict: z
      .enum(['landed', 'failed', 'alive', 'dead', 'unknown'])
      .describe(
        'Current verdict. Sluice makes another attempt only after `dead`, or after `failed` with a cause that can pass',
      ),
    reason: textOrNull('Why the verdict is `unknown`, or the error of a `failed` transaction; else null'),
    missing: z
      .array(
        z.object({
          node: textOrNull('Name of the node that must provide the evidence; null if no single node can'),
          what: text('Description of the missing evidence, for display'),
        }),
      )
      .readonly()
      .describe('Evidence that a final verdict still needs'),
    evidence: EvidenceBody.nullable().describe(
      'Current node answers about a live attempt, or the stored answers about an ended one. Null if no node could be asked, or no answers are stored',
    ),
  })
  .meta({ id: 'ExplainedAttempt' });

export function presentAttempt(row: AttemptRow, explorer: ExplorerSettings) {
  const link = row.signature === null ? null : explorerLink(row.signature, explorer);
  return { ...row, explorer: link, ...proofsOf(row) };
}
