import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { AgreedBlock, AttemptFacts, Evidence } from '../../src/domain/attempt.ts';
import { agreedLastHeight, claimedLastHeight, judgeAttempt } from '../../src/solana/proof/judge.ts';
import {
  ABSENT,
  ATTEMPT,
  agreed,
  anyAttempt,
  anyEvidence,
  coverage,
  deathEvidence,
  kindOf,
  mentions,
  nodeAnswer,
  RUNS,
  seen,
  UNREADABLE,
} from './evidence.ts';

/** Runs `check` on random evidence, but only if the verdict is dead; fails if it never is. */
function whereDead(check: (evidence: Evidence, attempt: AttemptFacts) => void): void {
  let dead = 0;
  fc.assert(
    fc.property(anyAttempt, anyEvidence, (attempt, evidence) => {
      if (kindOf(evidence, attempt) !== 'dead') return;
      dead += 1;
      check(evidence, attempt);
    }),
    RUNS,
  );
  expect(dead).toBeGreaterThan(20);
}

/** The last height and the sequence that a verdict of death rests on; fails where its blocks prove nothing. */
function proofOf(
  evidence: Evidence,
  attempt: AttemptFacts,
): { readonly last: bigint; readonly sequence: number } {
  const { quorum, origin, coverage: blocks, displacement } = evidence;
  const agree = (shown: readonly AgreedBlock[]) => {
    for (const { agreeingNodes } of shown) expect(new Set(agreeingNodes).size).toBeGreaterThanOrEqual(quorum);
  };
  const isOrigin = origin?.blockhash === attempt.blockhash && new Set(origin.agreeingNodes).size >= quorum;
  if (origin === null || !isOrigin) {
    if (displacement === null) throw new Error('dead without blocks');
    const { slot, by, parentSlot, sequence } = displacement;
    agree([by]);
    expect(slot).toBe(attempt.blockhashSlot);
    expect(by.blockhash).not.toBe(attempt.blockhash);
    expect([parentSlot < slot, slot <= by.slot]).toEqual([true, true]);
    return { last: claimedLastHeight(attempt), sequence };
  }
  if (blocks === null) throw new Error('dead without blocks');
  const last = agreedLastHeight(attempt, origin.height);
  expect(blocks.last.height).toBeGreaterThan(last);
  expect([blocks.first.blockhash, blocks.first.height]).toEqual([attempt.blockhash, origin.height]);
  agree([origin, blocks.first, blocks.last]);
  return { last, sequence: blocks.sequence };
}

describe('an attempt whose blockhash was dropped by a fork', () => {
  const by = agreed({ slot: 2501n, blockhash: 'another' });
  const displacement = { slot: 2500n, by, parentSlot: 2499n, sequence: 20 };
  const gone = (changes: Partial<Evidence> = {}) =>
    deathEvidence({ origin: null, coverage: null, displacement, ...changes });

  it('is dead with heights, another block of a quorum in place of its own, and later nulls', () => {
    expect(kindOf(gone())).toBe('dead');
    expect(kindOf(gone({ displacement: { ...displacement, by: { ...by, slot: 2500n } } }))).toBe('dead');
  });

  it.each<[string, Partial<Evidence>]>([
    ['no node returns the block that replaced it', { displacement: null }],
    [
      'only one node returns the replacing block',
      { displacement: { ...displacement, by: { ...by, agreeingNodes: ['a', 'a'] } } },
    ],
    ['a block between may be missing', { displacement: { ...displacement, parentSlot: 2500n } }],
    [
      'the replacing block is in another slot',
      { displacement: { ...displacement, slot: 2499n, parentSlot: 2498n } },
    ],
    [
      'the replacing block carries the blockhash',
      { displacement: { ...displacement, by: { ...by, blockhash: 'hash-1000' } } },
    ],
    [
      'a null comes from below its last height',
      { statuses: [nodeAnswer('a', 30, ABSENT), nodeAnswer('b', 31, { ...ABSENT, atSlot: 2_650n })] },
    ],
    ['the nulls came before', { statuses: [nodeAnswer('a', 3, ABSENT), nodeAnswer('b', 4, ABSENT)] }],
    [
      'a node reports it finalized',
      { statuses: [nodeAnswer('a', 30, seen('finalized')), nodeAnswer('b', 31, ABSENT)] },
    ],
    ['a finalized bank of the quorum still takes its blockhash', { stillTaking: ['a'] }],
    [
      'no quorum is past its last height',
      { finalizedHeights: [nodeAnswer('a', 1, 1151n), nodeAnswer('b', 2, 1150n)] },
    ],
  ])('is not dead when %s', (_, changes) => {
    expect(kindOf(gone(changes))).not.toBe('dead');
  });

  it('is alive again when a quorum returns the block of its blockhash', () => {
    expect(kindOf(gone({ origin: agreed() }))).toBe('unknown');
  });

  it('is not kept alive by a node that still returns it on the dead fork', () => {
    const statuses = [
      nodeAnswer('a', 30, ABSENT),
      nodeAnswer('b', 31, ABSENT),
      nodeAnswer('c', 32, seen('confirmed')),
    ];
    expect(kindOf(gone({ statuses }))).toBe('dead');
  });
});

describe('an attempt is dead', () => {
  it('with heights, coverage and later nulls of a quorum', () => {
    expect(judgeAttempt(ATTEMPT, deathEvidence())).toEqual({ kind: 'dead' });
  });

  it('although a node once saw it on a fork that the coverage refutes', () => {
    const statuses = [nodeAnswer('a', 3, seen('confirmed')), ...deathEvidence().statuses];
    expect(kindOf(deathEvidence({ statuses }))).toBe('dead');
  });

  it('never while any node reported it finalized, the blocks hold it, or an outcome was confirmed', () => {
    whereDead((evidence) => {
      expect(
        mentions(evidence, (answer) => answer.kind === 'seen' && answer.commitment === 'finalized'),
      ).toBe(false);
      if (evidence.displacement === null)
        expect(mentions(evidence, (answer) => answer.kind === 'seen' && answer.slot > 3000n)).toBe(false);
      expect(evidence.coverage?.containsSignature ?? false).toBe(false);
      expect(evidence.outcomeConfirmedBy).toEqual([]);
    });
  });

  it('never without a quorum of finalized heights above L, full coverage or a replacing block, and later nulls', () => {
    whereDead((evidence, attempt) => {
      const { last, sequence: provedAt } = proofOf(evidence, attempt);
      const silent = evidence.statuses.filter(({ answer, sequence }) => {
        const before = evidence.finalizedHeights.filter(
          (one) => one.answer > last && one.sequence < sequence && !evidence.stillTaking.includes(one.node),
        );
        const confirming = new Set(before.map((one) => one.node));
        return answer.kind === 'absent' && sequence > provedAt && confirming.size >= evidence.quorum;
      });
      expect(new Set(silent.map((one) => one.node)).size).toBeGreaterThanOrEqual(evidence.quorum);
    });
  });

  it('no longer once any answer of the proof is removed or reversed', () => {
    const spoilt: readonly Partial<Evidence>[] = [
      { quorum: 3 },
      { quorum: 0 },
      { quorum: Number.NaN },
      { finalizedHeights: [] },
      { finalizedHeights: [nodeAnswer('a', 1, 1151n), nodeAnswer('a', 2, 1151n)] },
      { finalizedHeights: [nodeAnswer('a', 1, 1151n), nodeAnswer('b', 2, 1150n)] },
      { finalizedHeights: [nodeAnswer('a', 1, 1151n), nodeAnswer('b', 32, 1151n)] },
      { stillTaking: ['b'] },
      { coverage: null },
      { coverage: coverage({ sequence: 31 }) },
      { origin: null },
      { origin: agreed({ blockhash: 'other' }) },
      { origin: agreed({ height: 1001n }) },
      { origin: agreed({ agreeingNodes: ['a', 'a'] }) },
      { coverage: coverage({ last: { height: 1150n } }) },
      { coverage: coverage({ last: { agreeingNodes: ['a', 'a'] } }) },
      { coverage: coverage({ first: { height: 1001n } }) },
      { coverage: coverage({ first: { blockhash: 'other' } }) },
      { coverage: coverage({ first: { agreeingNodes: ['a'] } }) },
      { coverage: coverage({ containsSignature: true }) },
      { coverage: coverage({ minAgreeingNodes: 1 }) },
      { statuses: [] },
      { statuses: [nodeAnswer('a', 30, ABSENT), nodeAnswer('a', 31, ABSENT)] },
      { statuses: [nodeAnswer('a', 30, ABSENT), nodeAnswer('b', 20, ABSENT)] },
      { statuses: [nodeAnswer('a', 30, ABSENT), nodeAnswer('c', 31, ABSENT)] },
      { statuses: [nodeAnswer('a', 30, ABSENT), nodeAnswer('b', 31, UNREADABLE)] },
      { statuses: [nodeAnswer('a', 30, ABSENT), nodeAnswer('b', 31, { ...ABSENT, atSlot: 2_999n })] },
      { statuses: [nodeAnswer('a', 30, ABSENT), nodeAnswer('b', 31, { ...ABSENT, atSlot: null })] },
      { statuses: [nodeAnswer('a', 30, ABSENT), nodeAnswer('b', 31, { ...ABSENT, historyFrom: 2_501n })] },
      { statuses: [nodeAnswer('a', 30, ABSENT), nodeAnswer('b', 31, { ...ABSENT, historyFrom: null })] },
      {
        statuses: [
          nodeAnswer('a', 30, ABSENT),
          nodeAnswer('b', 31, ABSENT),
          nodeAnswer('b', 33, seen('confirmed')),
        ],
      },
      { statuses: [...deathEvidence().statuses, nodeAnswer('c', 3, seen('finalized'))] },
      { outcomeConfirmedBy: ['a'] },
    ];
    for (const changes of spoilt)
      expect(kindOf(deathEvidence(changes)), JSON.stringify(Object.keys(changes))).not.toBe('dead');
  });

  it('never while its signature is not known', () => {
    fc.assert(
      fc.property(anyEvidence, (evidence) => kindOf(evidence, { ...ATTEMPT, signature: null }) === 'unknown'),
    );
  });
});
