import fc from 'fast-check';
import type {
  AttemptFacts,
  Evidence,
  NodeTestimony,
  SequencedCoverage,
  Sighting,
} from '../../src/domain/attempt.ts';

/** An attempt whose L is 1150 by both counts. */
export const ATTEMPT: AttemptFacts = {
  signature: 'sig',
  blockhash: 'hash-1000',
  blockhashHeight: 1000n,
  lastValidBlockHeight: 1150n,
};

export const ABSENT: Sighting = { kind: 'absent' };
export const UNREADABLE: Sighting = { kind: 'unreadable', why: 'timeout' };

export function seen(
  commitment: 'processed' | 'confirmed' | 'finalized',
  error: string | null = null,
): Sighting {
  return { kind: 'seen', commitment, slot: 2000n, error };
}

export function said<T>(node: string, sequence: number, answer: T): NodeTestimony<T> {
  return { node, sequence, answer };
}

export function coverage(changes: Partial<SequencedCoverage> = {}): SequencedCoverage {
  return {
    firstBlockhash: 'hash-1000',
    fromHeight: 1000n,
    toHeight: 1151n,
    lastSlot: 3000n,
    lastBlockhash: 'hash-1151',
    agreeingNodes: ['a', 'b'],
    containsSignature: false,
    sequence: 20,
    ...changes,
  };
}

/** Evidence of two out of three nodes that proves death; each property spoils one part of it. */
export function deathEvidence(changes: Partial<Evidence> = {}): Evidence {
  return {
    quorum: 2,
    finalizedHeights: [said('a', 1, 1151n), said('b', 2, 1160n)],
    coverage: coverage(),
    statuses: [said('a', 30, ABSENT), said('b', 31, ABSENT)],
    outcomeConfirmedBy: [],
    ...changes,
  };
}

export const node = fc.constantFrom('a', 'b', 'c');
export const sequence = fc.integer({ min: 0, max: 40 });

/** Mostly null, sometimes anything else. */
export const anySighting: fc.Arbitrary<Sighting> = fc.oneof(
  { weight: 6, arbitrary: fc.constant(ABSENT) },
  { weight: 1, arbitrary: fc.constant(UNREADABLE) },
  {
    weight: 1,
    arbitrary: fc.record({
      kind: fc.constant('seen' as const),
      commitment: fc.constantFrom('processed' as const, 'confirmed' as const, 'finalized' as const),
      slot: fc.bigInt({ min: 1900n, max: 3100n }),
      error: fc.option(fc.constant('InstructionError'), { freq: 2 }),
    }),
  },
);

/** Answers of any nodes in any order. */
export function testimonies<T>(answer: fc.Arbitrary<T>): fc.Arbitrary<NodeTestimony<T>[]> {
  return fc.array(fc.record({ node, sequence, answer }), { maxLength: 8 });
}

/** Attempts whose reported last height may lie below, at or above the counted one. */
export const anyAttempt: fc.Arbitrary<AttemptFacts> = fc
  .bigInt({ min: 1100n, max: 1200n })
  .map((lastValidBlockHeight) => ({ ...ATTEMPT, lastValidBlockHeight }));

const anyCoverage: fc.Arbitrary<SequencedCoverage> = fc.record({
  firstBlockhash: fc.constantFrom('hash-1000', 'hash-1000', 'hash-1000', 'other'),
  fromHeight: fc.constantFrom(1000n, 1000n, 1000n, 1001n),
  toHeight: fc.bigInt({ min: 1140n, max: 1300n }),
  lastSlot: fc.constant(3000n),
  lastBlockhash: fc.constant('end'),
  agreeingNodes: fc.array(node, { maxLength: 4 }),
  containsSignature: fc.oneof({ weight: 9, arbitrary: fc.constant(false) }, fc.constant(true)),
  sequence,
});

/** Evidence of every sort, with a fair share that proves death. */
export const anyEvidence: fc.Arbitrary<Evidence> = fc.record({
  quorum: fc.constantFrom(1, 2, 2, 3),
  finalizedHeights: testimonies(fc.bigInt({ min: 1100n, max: 1300n })),
  statuses: testimonies(anySighting),
  outcomeConfirmedBy: fc.oneof({ weight: 4, arbitrary: fc.constant([]) }, fc.array(node, { maxLength: 2 })),
  coverage: fc.option(anyCoverage, { freq: 9 }),
});
