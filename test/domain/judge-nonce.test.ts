import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { NonceAttemptFacts, NonceEvidence, NonceUse } from '../../src/domain/attempt.ts';
import { judgeNonceAttempt } from '../../src/domain/judge-nonce.ts';
import { ABSENT, anySighting, node, said, seen, sequence, testimonies, UNREADABLE } from './evidence.ts';

const ATTEMPT: NonceAttemptFacts = { signature: 'sig', nonceAccount: 'account', nonce: 'old' };
const RUNS = { numRuns: 20_000 };

function use(changes: Partial<NonceUse> = {}): NonceUse {
  return {
    signature: 'other',
    nonceAccount: 'account',
    nonce: 'old',
    slot: 2000n,
    shownBy: ['a', 'b'],
    sequence: 20,
    ...changes,
  };
}

/** Evidence of two out of three nodes that proves death. */
function deathEvidence(changes: Partial<NonceEvidence> = {}): NonceEvidence {
  return {
    quorum: 2,
    finalizedNonces: [said('a', 1, 'new'), said('b', 2, 'newer')],
    use: use(),
    statuses: [said('a', 30, ABSENT), said('b', 31, ABSENT)],
    outcomeConfirmedBy: [],
    ...changes,
  };
}

const anyUse: fc.Arbitrary<NonceUse> = fc.record({
  signature: fc.constantFrom('other', 'other', 'other', 'sig'),
  nonceAccount: fc.constantFrom('account', 'account', 'account', 'twin'),
  nonce: fc.constantFrom('old', 'old', 'old', 'older'),
  slot: fc.constant(2000n),
  shownBy: fc.array(node, { maxLength: 4 }),
  sequence,
});

const anyEvidence: fc.Arbitrary<NonceEvidence> = fc.record({
  quorum: fc.constantFrom(1, 2, 2, 3),
  finalizedNonces: testimonies(fc.constantFrom('new', 'new', 'newer', 'old')),
  use: fc.option(anyUse, { freq: 9 }),
  statuses: testimonies(anySighting),
  outcomeConfirmedBy: fc.oneof({ weight: 4, arbitrary: fc.constant([]) }, fc.array(node, { maxLength: 2 })),
});

function kind(evidence: NonceEvidence, attempt: NonceAttemptFacts = ATTEMPT): string {
  return judgeNonceAttempt(attempt, evidence).kind;
}

describe('an attempt with a durable nonce is dead', () => {
  it('with another nonce, its foreign use and later nulls of a quorum', () => {
    expect(judgeNonceAttempt(ATTEMPT, deathEvidence())).toEqual({ kind: 'dead' });
  });

  it('never while any evidence says that it may live, on any evidence', () => {
    let dead = 0;
    fc.assert(
      fc.property(anyEvidence, (evidence) => {
        if (kind(evidence) !== 'dead') return;
        dead += 1;
        const { quorum, finalizedNonces, statuses, outcomeConfirmedBy } = evidence;
        const used = evidence.use;
        if (used === null) throw new Error('dead without a use of its nonce');
        expect(used).toMatchObject({ signature: 'other', nonceAccount: 'account', nonce: 'old' });
        expect(new Set(used.shownBy).size).toBeGreaterThanOrEqual(quorum);
        expect(statuses.some(({ answer }) => answer.kind === 'seen')).toBe(false);
        expect(outcomeConfirmedBy).toEqual([]);
        const standing = new Set(
          finalizedNonces.filter((one) => one.answer === 'old').map((one) => one.node),
        );
        const silent = statuses.filter(({ answer, sequence: at, node: by }) => {
          const before = finalizedNonces.filter((one) => one.answer !== 'old' && one.sequence < at);
          const witnesses = new Set(before.map((one) => one.node).filter((one) => !standing.has(one)));
          return (
            answer.kind === 'absent' && at > used.sequence && witnesses.has(by) && witnesses.size >= quorum
          );
        });
        expect(new Set(silent.map((one) => one.node)).size).toBeGreaterThanOrEqual(quorum);
      }),
      RUNS,
    );
    expect(dead).toBeGreaterThan(20);
  });

  it('never again once any answer of the proof is taken away or turned', () => {
    const spoilt: readonly Partial<NonceEvidence>[] = [
      { quorum: 3 },
      { quorum: 0 },
      { quorum: Number.NaN },
      { finalizedNonces: [] },
      { finalizedNonces: [said('a', 1, 'new'), said('a', 2, 'new')] },
      { finalizedNonces: [said('a', 1, 'new'), said('b', 2, 'old')] },
      { finalizedNonces: [said('a', 1, 'new'), said('b', 2, 'new'), said('b', 3, 'old')] },
      { finalizedNonces: [said('a', 1, 'new'), said('b', 32, 'new')] },
      { use: null },
      { use: use({ signature: 'sig' }) },
      { use: use({ nonceAccount: 'twin' }) },
      { use: use({ nonce: 'older' }) },
      { use: use({ shownBy: ['a', 'a'] }) },
      { use: use({ sequence: 31 }) },
      { statuses: [] },
      { statuses: [said('a', 30, ABSENT), said('a', 31, ABSENT)] },
      { statuses: [said('a', 30, ABSENT), said('b', 20, ABSENT)] },
      { statuses: [said('a', 30, ABSENT), said('c', 31, ABSENT)] },
      { statuses: [said('a', 30, ABSENT), said('b', 31, UNREADABLE)] },
      { statuses: [...deathEvidence().statuses, said('c', 3, seen('processed'))] },
      { statuses: [...deathEvidence().statuses, said('c', 3, seen('finalized'))] },
      { outcomeConfirmedBy: ['a'] },
    ];
    for (const changes of spoilt)
      expect(kind(deathEvidence(changes)), JSON.stringify(Object.keys(changes))).not.toBe('dead');
  });

  it('never while its signature is not known', () => {
    expect(kind(deathEvidence(), { ...ATTEMPT, signature: null })).toBe('unknown');
  });
});

describe('an attempt with a durable nonce', () => {
  it('lives as long as its nonce stands, however long nodes answer null', () => {
    const finalizedNonces = [said('a', 1, 'old'), said('b', 2, 'old')];
    expect(judgeNonceAttempt(ATTEMPT, deathEvidence({ finalizedNonces, use: null }))).toEqual({
      kind: 'alive',
      seen: null,
    });
  });

  it('has failed for good where it is finalized with an error, although its nonce advanced', () => {
    const statuses = [said('a', 30, seen('finalized', 'InstructionError'))];
    const evidence = deathEvidence({ statuses, outcomeConfirmedBy: ['b'], use: use({ signature: 'sig' }) });
    expect(judgeNonceAttempt(ATTEMPT, evidence)).toMatchObject({ kind: 'failed', error: 'InstructionError' });
  });

  it('is unknown where nodes contradict each other about who used the nonce', () => {
    const statuses = [said('a', 30, seen('finalized')), said('b', 31, ABSENT)];
    expect(kind(deathEvidence({ statuses, outcomeConfirmedBy: ['b'] }))).toBe('unknown');
  });
});
