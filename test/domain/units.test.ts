import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { AgreedBlock, AttemptFacts, NodeAnswer } from '../../src/domain/attempt.ts';
import {
  type Address,
  ascending,
  type BlockHeight,
  highest,
  isAbove,
  lowest,
  type Signature,
  type Slot,
} from '../../src/domain/units.ts';
import { agreedLastHeight, isDue, judgeAttempt } from '../../src/solana/proof/judge.ts';
import { provesAbsence } from '../../src/solana/proof/status-observations.ts';
import { ATTEMPT, deathEvidence } from './evidence.ts';

const slot: Slot = 2_500n;
const height: BlockHeight = 1_151n;
const absent = { kind: 'absent', atSlot: null, historyFrom: null } as const;

// The compiler is the test: each line below an expected error fails `npm run check` once it compiles.
test('the judge accepts no slot as a height, and no height as a slot', () => {
  // @ts-expect-error
  const bySlot: AttemptFacts = { ...ATTEMPT, blockhashHeight: slot };
  // @ts-expect-error
  const byHeight: AttemptFacts = { ...ATTEMPT, blockhashSlot: height };
  // @ts-expect-error
  const block: AgreedBlock = { slot: height, height, blockhash: 'b', agreeingNodes: [] };
  const slots: readonly NodeAnswer<Slot>[] = [{ node: 'a', sequence: 1, answer: slot }];
  // @ts-expect-error
  const evidence = deathEvidence({ finalizedHeights: slots });
  for (const attempt of [bySlot, byHeight]) expect(judgeAttempt(attempt, evidence).kind).not.toBe('dead');
  // @ts-expect-error
  expect(agreedLastHeight(ATTEMPT, slot)).toBeTypeOf('bigint');
  // @ts-expect-error
  expect(isDue(ATTEMPT, slots)).toBe(true);
  // @ts-expect-error
  expect(provesAbsence(absent, slot, height)).toBe(false);
  // @ts-expect-error
  expect(isAbove(block.slot, height)).toBe(false);
});

test('the compiler accepts no address as a signature', () => {
  const address: Address = 'a';
  // @ts-expect-error
  const signature: Signature = address;
  expect(signature).toBe(address);
});

test('the minimum and the maximum of bigints are the ends of their sorted order', () => {
  fc.assert(
    fc.property(fc.bigInt(), fc.array(fc.bigInt()), (first, others) => {
      const ordered = [first, ...others].toSorted((one, other) => (one < other ? -1 : Number(one > other)));
      expect([first, ...others].toSorted(ascending)).toEqual(ordered);
      expect(lowest([first, ...others])).toBe(ordered[0]);
      expect(highest([first, ...others])).toBe(ordered.at(-1));
    }),
  );
});
