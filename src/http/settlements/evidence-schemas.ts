import { z } from 'zod';
import { text, textOrNull, time, u64 } from '../schemas.ts';

const nodeNames = z.array(z.string()).readonly();
const order = z.int().describe('Order of the question: a later question has a greater number');
const answered = { node: text('Name of the node'), order };
const shownBlock = z
  .object({
    slot: u64.describe('Slot'),
    blockhash: text('Blockhash'),
    height: u64.describe('Block height'),
    nodes: nodeNames.describe('Names of the nodes that return this block'),
  })
  .meta({
    id: 'ShownBlock',
    description: 'A finalized block, and the nodes that return it with this slot, hash and height',
  });

export const EvidenceBody = z
  .object({
    askedAt: time.nullable().describe('Time of the first question; null for evidence stored without times'),
    judgedAt: time.nullable().describe('Time of the verdict; null for evidence stored without times'),
    quorum: z.int().describe('Number of nodes that must agree'),
    lastHeight: u64
      .nullable()
      .describe('Last block height at which the transaction could land; null for a durable nonce'),
    finalizedHeights: z
      .array(z.object({ ...answered, height: u64.describe('Finalized block height of the node') }))
      .readonly()
      .describe('Finalized block height of each node'),
    stillTaking: nodeNames.describe('Nodes that still accept the blockhash in their finalized bank'),
    blockhashBlock: shownBlock
      .nullable()
      .describe('Block of the blockhash; for a message from a buyer, the first block that was searched'),
    displacedBy: z
      .object({
        slot: u64.describe('Slot of the block that is not in the finalized chain'),
        parentSlot: u64.describe('Slot of the parent of `block`; lower than `slot`'),
        block: shownBlock.describe('Block that the finalized chain has instead'),
        order,
      })
      .nullable()
      .describe('Proof that the block of the blockhash was on a fork that was dropped; else null'),
    linkedBlocks: z
      .object({
        first: shownBlock.describe('First block'),
        last: shownBlock.describe('Last block'),
        holdsSignature: z.boolean().describe('Whether one of the blocks contains the transaction'),
        witnesses: z
          .int()
          .describe('Minimum number of nodes that return each block with the same transactions'),
        order,
      })
      .nullable()
      .describe(
        'Finalized blocks, each linked to its parent by slot, hash and height; null if they were not read',
      ),
    finalizedNonces: z
      .array(z.object({ ...answered, nonce: text('Value of the nonce') }))
      .readonly()
      .describe('Value of the durable nonce account in the finalized bank of each node'),
    nonceUsedBy: z
      .object({
        signature: text('Signature of the transaction in base58'),
        slot: u64.describe('Slot of the block'),
        carriedNonce: z
          .boolean()
          .describe('True if the transaction used this nonce; false if it advanced the account past it'),
        nodes: nodeNames.describe('Names of the nodes that return the transaction'),
        order,
      })
      .nullable()
      .describe('Finalized transaction that used the nonce, or advanced the account past it; else null'),
    statuses: z
      .array(
        z
          .object({
            ...answered,
            seen: z
              .enum(['absent', 'processed', 'confirmed', 'finalized', 'unreadable'])
              .describe('Status of the signature on the node'),
            slot: u64.nullable().describe('Slot of the block with the transaction; null if there is none'),
            error: textOrNull('Error of the transaction, or why the answer cannot be read; else null'),
            atSlot: u64.nullable().describe('Slot of the node when it answered; null if unknown'),
            historyFrom: u64
              .nullable()
              .describe(
                'First block of the history in which the node did not find the transaction; else null',
              ),
          })
          .meta({ id: 'StatusAnswer' }),
      )
      .readonly()
      .describe('Status of the signature on each node'),
    outcomeConfirmedBy: nodeNames.describe(
      'Nodes that confirm the outcome that another node reports as finalized',
    ),
    chargedBy: nodeNames.describe(
      'Nodes among them that report a charged fee; a transaction without a fee has not run',
    ),
  })
  .readonly()
  .meta({
    id: 'AttemptEvidence',
    description: 'Evidence for the verdict on an attempt: heights or nonces, then blocks, then statuses',
  });

/** What the row of an attempt stores. `ofMessage`: after a restore, the evidence that no other signature landed. */
const StoredProof = EvidenceBody.unwrap().extend({ ofMessage: EvidenceBody.nullish() });

/** Both are null before the attempt has ended. */
export function proofsOf(row: { readonly proof: unknown }) {
  const proof = StoredProof.safeParse(row.proof).data ?? null;
  return { proof, messageProof: proof?.ofMessage ?? null };
}
