import fc from 'fast-check';
import type {
  AgreedBlock,
  AttemptFacts,
  Displacement,
  Evidence,
  NodeAnswer,
  SequencedCoverage,
  StatusObservation,
} from '../../src/domain/attempt.ts';
import { attemptEvidence } from '../../src/solana/proof/attempt-evidence.ts';
import { judgeAttempt } from '../../src/solana/proof/judge.ts';

/** Of a property on random evidence, most of which proves nothing. */
export const RUNS = { numRuns: 20_000 };

/** An attempt whose L is 1150 by both counts. */
export const ATTEMPT: AttemptFacts = {
  signature: 'sig',
  blockhash: 'hash-1000',
  blockhashSlot: 2500n,
  blockhashHeight: 1000n,
  lastValidBlockHeight: 1150n,
  adoptedFrom: null,
};

/** The null of a node that is far ahead, and whose history reaches back to the beginning. */
export const ABSENT = {
  kind: 'absent',
  atSlot: 4_000n,
  historyFrom: 0n,
} as const satisfies StatusObservation;
export const UNREADABLE: StatusObservation = { kind: 'unreadable', reason: 'timeout' };

export function seen(
  commitment: 'processed' | 'confirmed' | 'finalized',
  error: string | null = null,
): StatusObservation {
  return { kind: 'seen', commitment, slot: 2000n, error, atSlot: 4_000n };
}

export function nodeAnswer<T>(node: string, sequence: number, answer: T): NodeAnswer<T> {
  return { node, sequence, answer };
}

/** A block that nodes a and b agree on; by default that of the attempt's blockhash. */
export function agreed(changes: Partial<AgreedBlock> = {}): AgreedBlock {
  return { slot: 2500n, blockhash: 'hash-1000', height: 1000n, agreeingNodes: ['a', 'b'], ...changes };
}

const END = { slot: 3000n, blockhash: 'hash-1151', height: 1151n };

export function coverage(
  changes: {
    readonly first?: Partial<AgreedBlock>;
    readonly last?: Partial<AgreedBlock>;
    readonly containsSignature?: boolean;
    readonly minAgreeingNodes?: number;
    readonly sequence?: number;
  } = {},
): SequencedCoverage {
  const { first = {}, last = {}, ...rest } = changes;
  return {
    first: agreed(first),
    last: agreed({ ...END, ...last }),
    containsSignature: false,
    minAgreeingNodes: 2,
    sequence: 20,
    ...rest,
  };
}

/** Evidence of two out of three nodes that proves death; each property spoils one part of it. */
export function deathEvidence(changes: Partial<Evidence> = {}): Evidence {
  return {
    quorum: 2,
    finalizedHeights: [nodeAnswer('a', 1, 1151n), nodeAnswer('b', 2, 1160n)],
    stillTaking: [],
    origin: agreed(),
    displacement: null,
    coverage: coverage(),
    statuses: [nodeAnswer('a', 30, ABSENT), nodeAnswer('b', 31, ABSENT)],
    outcomeConfirmedBy: [],
    chargedBy: [],
    ...changes,
  };
}

/** {@link deathEvidence} as it is stored. */
export function deathProof() {
  const at = new Date('2026-01-01T00:00:00.000Z');
  return attemptEvidence(ATTEMPT, deathEvidence(), { askedAt: at, judgedAt: at });
}

export const node = fc.constantFrom('a', 'b', 'c');
export const sequence = fc.integer({ min: 0, max: 40 });

/** Mostly null, sometimes anything else. */
export const anyObservation: fc.Arbitrary<StatusObservation> = fc.oneof(
  { weight: 6, arbitrary: fc.constant(ABSENT) },
  {
    weight: 1,
    arbitrary: fc.constantFrom<StatusObservation>(
      { ...ABSENT, atSlot: 2_999n },
      { ...ABSENT, historyFrom: 2_501n },
      { ...ABSENT, historyFrom: null },
      { ...ABSENT, atSlot: null },
    ),
  },
  { weight: 1, arbitrary: fc.constant(UNREADABLE) },
  {
    weight: 1,
    arbitrary: fc.record({
      kind: fc.constant('seen' as const),
      commitment: fc.constantFrom('processed' as const, 'confirmed' as const, 'finalized' as const),
      slot: fc.bigInt({ min: 1900n, max: 3100n }),
      error: fc.option(fc.constant('InstructionError'), { freq: 2 }),
      atSlot: fc.constant(4_000n),
    }),
  },
);

/** Answers of any nodes in any order. */
export function anyNodeAnswers<T>(answer: fc.Arbitrary<T>): fc.Arbitrary<NodeAnswer<T>[]> {
  return fc.array(fc.record({ node, sequence, answer }), { maxLength: 8 });
}

/** Attempts whose reported last height may lie below, at or above the counted one. */
export const anyAttempt: fc.Arbitrary<AttemptFacts> = fc
  .bigInt({ min: 1100n, max: 1200n })
  .map((lastValidBlockHeight) => ({ ...ATTEMPT, lastValidBlockHeight }));

/** Mostly the block of the attempt's blockhash as a quorum shows it. */
const anyOrigin: fc.Arbitrary<AgreedBlock> = fc.record({
  slot: fc.constant(2500n),
  blockhash: mostly('hash-1000', 'other'),
  height: mostly(1000n, 1001n),
  agreeingNodes: mostly(['a', 'b', 'c'], ['a', 'a']),
});

/** A finalized block at the slot of the blockhash of the attempt, mostly another one that a quorum shows. */
export const anyDisplacement: fc.Arbitrary<Displacement> = fc.record({
  slot: mostly(2500n, 2499n),
  by: fc.record({
    slot: mostly(2501n, 2500n),
    blockhash: mostly('another', 'hash-1000'),
    height: fc.constant(1000n),
    agreeingNodes: mostly(['a', 'b'], ['a', 'a']),
  }),
  parentSlot: mostly(2499n, 2500n),
  sequence,
});

const anyCoverage: fc.Arbitrary<SequencedCoverage> = fc.record({
  first: anyOrigin,
  last: fc.record({
    slot: fc.constant(3000n),
    blockhash: fc.constant('end'),
    height: fc.bigInt({ min: 1140n, max: 1300n }),
    agreeingNodes: fc.array(node, { maxLength: 4 }),
  }),
  containsSignature: mostly(false, true),
  minAgreeingNodes: mostly(2, 1),
  sequence,
});

function mostly<T>(usual: T, other: T): fc.Arbitrary<T> {
  return fc.oneof({ weight: 9, arbitrary: fc.constant(usual) }, fc.constant(other));
}

/** Evidence of every sort, with a fair share that proves death. */
export const anyEvidence: fc.Arbitrary<Evidence> = fc.record({
  quorum: fc.constantFrom(1, 2, 2, 3),
  finalizedHeights: anyNodeAnswers(fc.bigInt({ min: 1100n, max: 1300n })),
  stillTaking: mostly([], ['c']),
  statuses: anyNodeAnswers(anyObservation),
  outcomeConfirmedBy: fc.oneof({ weight: 4, arbitrary: fc.constant([]) }, fc.array(node, { maxLength: 2 })),
  chargedBy: fc.array(node, { maxLength: 1 }),
  origin: fc.option(anyOrigin, { freq: 9 }),
  displacement: fc.option(anyDisplacement, { freq: 2 }),
  coverage: fc.option(anyCoverage, { freq: 9 }),
});

/** The verdict of the evidence on the attempt. */
export function kindOf(evidence: Evidence, attempt: AttemptFacts = ATTEMPT): string {
  return judgeAttempt(attempt, evidence).kind;
}

export function mentions(evidence: Evidence, test: (answer: StatusObservation) => boolean): boolean {
  return evidence.statuses.some((status) => test(status.answer));
}
