import { z } from 'zod';
import type { Evidence, InvestigationTimes, NonceEvidence } from '../../domain/attempt.ts';

/** Evidence as it was stored; times are null in proofs from before Sluice kept them. */
type StoredEvidence<E extends Evidence | NonceEvidence> = E & {
  readonly [K in keyof InvestigationTimes]: InvestigationTimes[K] | null;
};

/** `ofMessage`: after a restore, the proof that the message has not landed under any signature; else null. */
export type StoredProof = StoredEvidence<Evidence | NonceEvidence> & {
  readonly ofMessage: StoredEvidence<Evidence> | null;
};

const whole = z
  .string()
  .regex(/^\d{1,20}$/)
  .transform(BigInt);
const time = z.iso
  .datetime()
  .transform((text) => new Date(text))
  .nullable()
  .default(null);
const names = z.array(z.string()).readonly();
const saidBy = <T extends z.ZodType>(answer: T) =>
  z.array(z.object({ node: z.string(), sequence: z.number(), answer })).readonly();
const block = z.object({ slot: whole, blockhash: z.string(), height: whole, agreeingNodes: names });

// Missing in proofs from before Sluice asked which slot a node had reached, and how far back it looked.
const atSlot = whole.nullable().default(null);
const sighting = z.discriminatedUnion('kind', [
  z.object({ kind: z.literal('absent'), atSlot, historyFrom: atSlot }),
  z.object({
    kind: z.literal('seen'),
    commitment: z.enum(['processed', 'confirmed', 'finalized']),
    slot: whole,
    error: z.string().nullable(),
    atSlot,
  }),
  z.object({ kind: z.literal('unreadable'), reason: z.string() }),
]);

const coverage = z.object({
  first: block,
  last: block,
  containsSignature: z.boolean(),
  // Missing in proofs from before Sluice read the transactions of a block from more than one node.
  witnesses: z.number().default(1),
  sequence: z.number(),
});

const nonceEnd = {
  signature: z.string(),
  nonceAccount: z.string(),
  slot: whole,
  shownBy: names,
  sequence: z.number(),
};

const outcome = {
  askedAt: time,
  judgedAt: time,
  quorum: z.number(),
  statuses: saidBy(sighting),
  outcomeConfirmedBy: names,
  // Missing in proofs from before Sluice asked whether the transaction was executed.
  chargedBy: names.default([]),
};

const byBlocks = z.object({
  ...outcome,
  finalizedHeights: saidBy(whole),
  // Missing in proofs from before Sluice asked for it.
  stillTaking: names.default([]),
  origin: block.nullable(),
  displacement: z.object({ slot: whole, by: block, parentSlot: whole, sequence: z.number() }).nullable(),
  coverage: coverage.nullable(),
});
const ofMessage = byBlocks.nullable().default(null);

const proof = z.union([
  byBlocks.extend({ ofMessage }),
  z.object({
    ...outcome,
    ofMessage,
    finalizedNonces: saidBy(z.string()),
    use: z.object({ ...nonceEnd, nonce: z.string() }).nullable(),
    // Missing in proofs from before Sluice looked past advances that carry no nonce.
    bypass: z.object(nonceEnd).nullable().default(null),
    coverage: coverage.nullable().default(null),
  }),
]) satisfies z.ZodType<StoredProof>;

/** Parses what `toJson` wrote; null if nothing is stored, or something else. */
export function readProof(stored: unknown): StoredProof | null {
  return proof.safeParse(stored).data ?? null;
}
