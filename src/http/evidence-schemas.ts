import { z } from 'zod';
import type { AttemptEvidence, ShownBlock } from '../client/evidence.ts';
import { time, u64 } from './schemas.ts';

const nodeNames = z.array(z.string()).readonly();
const order = z.int().describe('What was asked later in one investigation has the greater number');
const answered = { node: z.string().describe('The node that answered'), order };
const shownBlock = z
  .object({
    slot: u64.describe('Its slot'),
    blockhash: z.string().describe('Its hash'),
    height: u64.describe('Its block height'),
    nodes: nodeNames.describe('The nodes that show exactly this'),
  })
  .meta({
    id: 'ShownBlock',
    description: 'A finalized block, and the nodes that show exactly this slot, hash and height',
  }) satisfies z.ZodType<ShownBlock>;

/** {@link AttemptEvidence} as the OpenAPI document shows it. */
export const EvidenceBody = z
  .object({
    askedAt: time
      .nullable()
      .describe('Of the first question; null for evidence that was stored without times'),
    judgedAt: time.nullable().describe('When the verdict was given; null as `askedAt`'),
    quorum: z.int().describe('Nodes that must agree'),
    lastHeight: u64
      .nullable()
      .describe('The last block height at which it could land; null for a durable nonce'),
    finalizedHeights: z
      .array(z.object({ ...answered, height: u64.describe('Its finalized block height') }))
      .readonly()
      .describe('How far nodes have come'),
    stillTaking: nodeNames.describe('Nodes whose finalized bank still takes the blockhash'),
    blockhashBlock: shownBlock
      .nullable()
      .describe('The block of its blockhash; for a message of a buyer, the first block that was searched'),
    displacedBy: z
      .object({
        slot: u64.describe('The slot of the block that is not there'),
        parentSlot: u64.describe('Slot of the parent of `block`, before `slot`'),
        block: shownBlock.describe('What the finalized chain has in its place'),
        order,
      })
      .nullable()
      .describe('What a fork left at or after the slot of that block'),
    linkedBlocks: z
      .object({
        first: shownBlock.describe('The first of them'),
        last: shownBlock.describe('The last of them'),
        holdsSignature: z.boolean().describe('Whether one of them carries the attempt'),
        witnesses: z.int().describe('So many nodes, or more, show each of them alike'),
        order,
      })
      .nullable()
      .describe(
        'Finalized blocks, each linked to its parent by slot, hash and height, and shown with the same transactions by at least so many witnesses',
      ),
    finalizedNonces: z
      .array(z.object({ ...answered, nonce: z.string().describe('The value that it shows') }))
      .readonly()
      .describe('The value of its durable nonce account in the finalized bank of each node'),
    nonceUsedBy: z
      .object({
        signature: z.string().describe('Its signature'),
        slot: u64.describe('Slot of its block'),
        carriedNonce: z.boolean().describe('False where it advanced the account past the nonce'),
        nodes: nodeNames.describe('The nodes that show it'),
        order,
      })
      .nullable()
      .describe('The finalized transaction that used up its nonce, or advanced the account past it'),
    statuses: z
      .array(
        z.object({
          ...answered,
          seen: z
            .enum(['absent', 'processed', 'confirmed', 'finalized', 'unreadable'])
            .describe('What the node says of the signature'),
          slot: u64.nullable().describe('Slot of its block; null where it is in none'),
          error: z.string().nullable().describe('Of the transaction, or why the answer cannot be read'),
          atSlot: u64.nullable().describe('The slot that the node had come to when it answered'),
          historyFrom: u64
            .nullable()
            .describe('The first block of the history in which the transaction was looked for in vain'),
        }),
      )
      .readonly()
      .describe('What each node says of the signature'),
    outcomeConfirmedBy: nodeNames.describe(
      'Nodes that show the outcome which another one reports as finalized',
    ),
    chargedBy: nodeNames.describe(
      'Those among them that show that it paid a fee: without one it has not run',
    ),
  })
  .readonly()
  .meta({
    id: 'AttemptEvidence',
    description: 'What a verdict on an attempt rests on: heights or nonces, then blocks, then statuses',
  }) satisfies z.ZodType<AttemptEvidence>;
