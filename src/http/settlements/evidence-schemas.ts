import { z } from 'zod';
import { text, textOrNull, time, u64 } from '../schemas.ts';

const nodeNames = z.array(z.string()).readonly();
const order = z
  .int()
  .describe('Sequence number of the request to the nodes; later requests have greater numbers');
const answerFields = { node: text('Name of the node'), order };
const AgreedBlockBody = z
  .object({
    slot: u64.describe('Slot of the block'),
    blockhash: text('Hash of the block'),
    height: u64.describe('Height of the block'),
    nodes: nodeNames.describe('Names of the nodes that return this block'),
  })
  .meta({
    id: 'ShownBlock',
    description: 'A finalized block, and the nodes that return it with this slot, hash and height',
  });

export const EvidenceBody = z
  .object({
    askedAt: time
      .nullable()
      .describe('Time of the first request to the nodes; null for evidence stored without times'),
    judgedAt: time.nullable().describe('Time of the verdict; null for evidence stored without times'),
    quorum: z.int().describe('Minimum number of nodes that must agree'),
    lastHeight: u64
      .nullable()
      .describe('Last block height at which the transaction could land; null for a durable nonce'),
    finalizedHeights: z
      .array(z.object({ ...answerFields, height: u64.describe('Finalized block height of the node') }))
      .readonly()
      .describe('Finalized block height of each node'),
    stillTaking: nodeNames.describe('Names of the nodes whose finalized bank still accepts the blockhash'),
    blockhashBlock: AgreedBlockBody.nullable().describe(
      'Block that has the blockhash of the transaction; for a message from a buyer, the first block that was searched. Null if the nodes do not agree on it',
    ),
    displacedBy: z
      .object({
        slot: u64.describe('Slot of the block that is not in the finalized chain'),
        parentSlot: u64.describe('Slot of the parent of `block`; lower than `slot`'),
        block: AgreedBlockBody.describe('First block of the finalized chain at or after `slot`'),
        order,
      })
      .nullable()
      .describe(
        'Proof that the finalized chain does not contain the block that has the blockhash; null if there is no such proof',
      ),
    linkedBlocks: z
      .object({
        first: AgreedBlockBody.describe('First block of the range'),
        last: AgreedBlockBody.describe('Last block of the range'),
        containsSignature: z.boolean().describe('Whether one of the blocks contains the transaction'),
        agreeingNodes: z
          .int()
          .describe('At least this many nodes return each of the blocks with the same transactions'),
        order,
      })
      .nullable()
      .describe(
        'Range of finalized blocks, each linked to its parent by slot, hash and height; null if no range was read',
      ),
    finalizedNonces: z
      .array(z.object({ ...answerFields, nonce: text('Value of the nonce') }))
      .readonly()
      .describe('Value of the durable nonce account in the finalized bank of each node'),
    nonceUsedBy: z
      .object({
        signature: text('Signature of the transaction in base58'),
        slot: u64.describe('Slot of the block that contains the transaction'),
        carriedNonce: z
          .boolean()
          .describe(
            'True if the transaction used the nonce of the attempt; false if it advanced the nonce account past that nonce',
          ),
        nodes: nodeNames.describe('Names of the nodes that return the transaction'),
        order,
      })
      .nullable()
      .describe(
        'Finalized transaction that used the nonce of the attempt, or advanced the nonce account past it; null if none was found',
      ),
    statuses: z
      .array(
        z
          .object({
            ...answerFields,
            seen: z
              .enum(['absent', 'processed', 'confirmed', 'finalized', 'unreadable'])
              .describe('Status of the signature on the node'),
            slot: u64
              .nullable()
              .describe('Slot of the block that contains the transaction; null if the node reports none'),
            error: textOrNull(
              'Error of the transaction, or why the answer of the node cannot be used; null if there is neither',
            ),
            atSlot: u64
              .nullable()
              .describe('Slot of the node when it answered; null if the node did not return it'),
            historyFrom: u64
              .nullable()
              .describe(
                'First slot of the history in which the node did not find the transaction; null if no history was searched',
              ),
          })
          .meta({ id: 'StatusAnswer' }),
      )
      .readonly()
      .describe('Status of the signature on each node'),
    outcomeConfirmedBy: nodeNames.describe(
      'Names of the nodes that confirm an outcome which another node reports as finalized',
    ),
    chargedBy: nodeNames.describe(
      'Names of the nodes in `outcomeConfirmedBy` that report a charged fee. A transaction without a fee did not run',
    ),
  })
  .readonly()
  .meta({
    id: 'AttemptEvidence',
    description: 'Evidence for the verdict on an attempt: heights or nonces, then blocks, then statuses',
  });

/** The column `proof` of an attempt. `ofMessage`: after a restore, the evidence that no other signature has landed. */
const StoredProof = EvidenceBody.unwrap().extend({ ofMessage: EvidenceBody.nullish() });

/** Returns the evidence for the verdict, and for the message. Both are null until the attempt has ended. */
export function proofsOf(row: { readonly proof: unknown }) {
  const proof = StoredProof.safeParse(row.proof).data ?? null;
  return { proof, messageProof: proof?.ofMessage ?? null };
}
