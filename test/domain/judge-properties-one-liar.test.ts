import fc from 'fast-check';
import { expect, it } from 'vitest';
import type {
  AgreedBlock,
  Displacement,
  Evidence,
  NodeAnswer,
  StatusObservation,
} from '../../src/domain/attempt.ts';
import { judgeAttempt } from '../../src/solana/proof/judge.ts';
import { ABSENT, anyObservation, nodeAnswer } from './evidence.ts';

const LIAR = 'liar';
const ORIGIN = { slot: 2500n, blockhash: 'hash-1000', height: 1000n };
const LAST_HEIGHT = 1150n;
const LANDED_SLOT = 2600n;

/** The true state: how many honest nodes there are, how far each is, and at which height the attempt landed, if it did. */
interface Truth {
  readonly tips: readonly bigint[];
  readonly landedAt: bigint | null;
}

const height = fc.bigInt({ min: 900n, max: 1400n });
const wildHeight = fc.oneof(height, fc.bigInt({ min: 0n, max: 10n ** 15n }));
const truths: fc.Arbitrary<Truth> = fc.record({
  tips: fc.array(fc.bigInt({ min: 1000n, max: 1400n }), { minLength: 1, maxLength: 4 }),
  landedAt: fc.option(fc.bigInt({ min: 1001n, max: LAST_HEIGHT }), { freq: 2 }),
});

const honest = (index: number): string => `honest-${index}`;

/** A block as nodes agree on it: one that is there shows every honest node, one that the liar invents the liar alone. */
function agreedBlocks(blocks: fc.Arbitrary<Omit<AgreedBlock, 'agreeingNodes'>>, { tips }: Truth) {
  const seenBy = (block: Omit<AgreedBlock, 'agreeingNodes'>): string[] =>
    tips.flatMap((tip, index) => (block.height <= tip ? [honest(index)] : []));
  const shown = blocks.map((block) => ({ ...block, agreeingNodes: [...seenBy(block), LIAR] }));
  const invented = fc
    .record({
      slot: fc.bigInt({ min: 0n, max: 4000n }),
      blockhash: fc.constant(ORIGIN.blockhash),
      height: wildHeight,
    })
    .map((block) => ({ ...block, agreeingNodes: [LIAR] }));
  return fc.oneof({ weight: 3, arbitrary: shown }, invented);
}

/** The liar alone says that a fork took the block of the blockhash: the honest nodes have it. */
const inventedDisplacement: fc.Arbitrary<Displacement> = fc.record({
  slot: fc.constant(ORIGIN.slot),
  by: fc.record({
    slot: fc.bigInt({ min: ORIGIN.slot, max: ORIGIN.slot + 3n }),
    blockhash: fc.constant('invented'),
    height: wildHeight,
    agreeingNodes: fc.constantFrom([LIAR], [LIAR, LIAR]),
  }),
  parentSlot: fc.bigInt({ min: ORIGIN.slot - 3n, max: ORIGIN.slot }),
  sequence: fc.constant(20),
});

function honestObservation({ landedAt }: Truth, tip: bigint): StatusObservation {
  const landed = landedAt !== null && landedAt <= tip;
  return landed
    ? { kind: 'seen', commitment: 'finalized', slot: LANDED_SLOT, error: null, atSlot: null }
    : ABSENT;
}

/** The nodes that confirm the first finalized status: honest nodes if it is true, the liar if it did not report it itself. */
function confirmers(
  truth: Truth,
  statuses: readonly NodeAnswer<StatusObservation>[],
  isLiarFirst: boolean,
): string[] {
  const first = statuses.find(({ answer }) => answer.kind === 'seen' && answer.commitment === 'finalized');
  if (first === undefined || first.answer.kind !== 'seen') return [];
  const isTrue = truth.landedAt !== null && first.answer.slot === LANDED_SLOT && first.answer.error === null;
  const others = statuses.filter(
    ({ node, answer }) => node !== first.node && node !== LIAR && isTrue && answer.kind === 'seen',
  );
  return [...others.map(({ node }) => node), ...(isLiarFirst && first.node !== LIAR ? [LIAR] : [])].slice(
    0,
    1,
  );
}

/** So many nodes show the blocks of its life with, or without, its transaction. */
function agreeingOf({ landedAt, tips }: Truth, containsSignature: boolean): number {
  return containsSignature === (landedAt !== null) ? tips.length + 1 : 1;
}

/** All that a pool of the honest nodes, of which one may have forgotten the transaction, and one liar can be made to say, whatever the liar says. */
function evidenceOf(truth: Truth): fc.Arbitrary<Evidence> {
  const origin = agreedBlocks(fc.constant(ORIGIN), truth);
  const last = agreedBlocks(
    height.map((value) => ({ slot: 3000n, blockhash: `hash-${value}`, height: value })),
    truth,
  );
  const coverage = fc
    .record({ first: origin, last, containsSignature: fc.boolean(), sequence: fc.constant(20) })
    .map((blocks) => ({ ...blocks, minAgreeingNodes: agreeingOf(truth, blocks.containsSignature) }));
  return fc
    .record({
      liarHeight: wildHeight,
      liarObservation: anyObservation,
      isLiarFirst: fc.boolean(),
      isLiarTaking: fc.boolean(),
      forgets: fc.boolean(),
      origin: fc.option(origin, { freq: 9 }),
      coverage: fc.option(coverage, { freq: 9 }),
      displacement: fc.option(inventedDisplacement, { freq: 2 }),
    })
    .map(({ liarHeight, liarObservation, isLiarFirst, isLiarTaking, forgets, ...blocks }) => {
      const heights = truth.tips.map((tip, index) => nodeAnswer(honest(index), 1 + index, tip));
      const observations = truth.tips.map((tip, index) =>
        nodeAnswer(
          honest(index),
          30 + index,
          forgets && index === 0 ? ABSENT : honestObservation(truth, tip),
        ),
      );
      const lie = nodeAnswer(LIAR, 40, liarObservation);
      const statuses = isLiarFirst ? [lie, ...observations] : [...observations, lie];
      return {
        quorum: Math.floor((truth.tips.length + 1) / 2) + 1,
        finalizedHeights: [...heights, nodeAnswer(LIAR, 10, liarHeight)],
        stillTaking: isLiarTaking ? [LIAR] : [],
        statuses,
        outcomeConfirmedBy: confirmers(truth, statuses, isLiarFirst),
        chargedBy: [],
        ...blocks,
      };
    });
}

const cases = truths.chain((truth) =>
  fc.record({
    truth: fc.constant(truth),
    evidence: evidenceOf(truth),
    // As if composed with the answer of the liar alone; only the slot is one that a quorum showed.
    claims: fc.record({ blockhashHeight: wildHeight, lastValidBlockHeight: wildHeight }),
  }),
);

it('one lying node in a pool of two to five causes no verdict that the honest nodes contradict', () => {
  const reached = new Set<string>();
  fc.assert(
    fc.property(cases, ({ truth, evidence, claims }) => {
      const { slot: blockhashSlot, blockhash } = ORIGIN;
      const attempt = { signature: 'sig', blockhash, blockhashSlot, adoptedFrom: null, ...claims };
      const verdict = judgeAttempt(attempt, evidence);
      reached.add(verdict.kind);
      const isOver = truth.tips.some((tip) => tip > LAST_HEIGHT);
      if (verdict.kind === 'dead')
        expect({ isOver, landedAt: truth.landedAt }).toEqual({ isOver: true, landedAt: null });
      if (verdict.kind === 'landed')
        expect([truth.landedAt === null, verdict.slot]).toEqual([false, LANDED_SLOT]);
      expect(verdict.kind).not.toBe('failed');
    }),
    { numRuns: 20_000 },
  );
  expect(reached).toEqual(new Set(['alive', 'unknown', 'landed', 'dead']));
});
