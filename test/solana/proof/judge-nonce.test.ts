import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type {
  NonceAttemptFacts,
  NonceBypass,
  NonceEvidence,
  NonceUse,
  SequencedCoverage,
} from '../../../src/domain/attempt.ts';
import { judgeNonceAttempt, judgeUnsignedNonce } from '../../../src/solana/proof/judge-nonce.ts';
import {
  ABSENT,
  agreed,
  anyNodeAnswers,
  anyObservation,
  coverage,
  node,
  nodeAnswer,
  seen,
  sequence,
  UNREADABLE,
} from '../../domain/evidence.ts';

const ATTEMPT: NonceAttemptFacts = {
  signature: 'sig',
  nonceAccount: 'account',
  nonce: 'old',
  nonceSlot: 1500n,
};
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
    finalizedNonces: [nodeAnswer('a', 1, 'new'), nodeAnswer('b', 2, 'newer')],
    use: use(),
    bypass: null,
    coverage: null,
    statuses: [nodeAnswer('a', 30, ABSENT), nodeAnswer('b', 31, ABSENT)],
    outcomeConfirmedBy: [],
    chargedBy: [],
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

function bypass(changes: Partial<NonceBypass> = {}): NonceBypass {
  return {
    signature: 'past',
    nonceAccount: 'account',
    slot: 2000n,
    shownBy: ['a', 'b'],
    sequence: 20,
    ...changes,
  };
}

/** Linked blocks from the attempt's nonce's slot to that of its bypass. */
function life(changes: Parameters<typeof coverage>[0] = {}): SequencedCoverage {
  const { first, last, ...rest } = changes;
  return coverage({ first: { slot: 1500n, ...first }, last: { slot: 2000n, ...last }, ...rest });
}

/** Evidence that proves death although nothing that used up the nonce is found. */
function bypassEvidence(changes: Partial<NonceEvidence> = {}): NonceEvidence {
  return deathEvidence({ use: null, bypass: bypass(), coverage: life(), ...changes });
}

const anyBypass: fc.Arbitrary<NonceBypass> = fc.record({
  signature: fc.constantFrom('past', 'past', 'past', 'sig'),
  nonceAccount: fc.constantFrom('account', 'account', 'account', 'twin'),
  slot: fc.constantFrom(2000n, 2000n, 1999n, 1500n),
  shownBy: fc.array(node, { maxLength: 4 }),
  sequence,
});

const anyLife: fc.Arbitrary<SequencedCoverage> = fc
  .record({
    from: fc.constantFrom(1500n, 1500n, 1499n, 1501n),
    to: fc.constantFrom(2000n, 2000n, 1999n, 2001n),
    agreeingNodes: fc.constantFrom(['a', 'b', 'c'], ['b', 'c'], ['a', 'a']),
    containsSignature: fc.constantFrom(false, false, false, true),
    minAgreeingNodes: fc.constantFrom(3, 3, 3, 1),
    sequence,
  })
  .map(({ from, to, agreeingNodes, ...rest }) => ({
    first: agreed({ slot: from, agreeingNodes }),
    last: agreed({ slot: to, agreeingNodes }),
    ...rest,
  }));

const anyEvidence: fc.Arbitrary<NonceEvidence> = fc.record({
  quorum: fc.constantFrom(1, 2, 2, 3),
  finalizedNonces: anyNodeAnswers(fc.constantFrom('new', 'new', 'newer', 'old')),
  use: fc.option(anyUse, { freq: 2 }),
  bypass: fc.option(anyBypass, { freq: 9 }),
  coverage: fc.option(anyLife, { freq: 9 }),
  statuses: anyNodeAnswers(anyObservation),
  outcomeConfirmedBy: fc.oneof({ weight: 4, arbitrary: fc.constant([]) }, fc.array(node, { maxLength: 2 })),
  chargedBy: fc.array(node, { maxLength: 1 }),
});

function kind(evidence: NonceEvidence, attempt: NonceAttemptFacts = ATTEMPT): string {
  return judgeNonceAttempt(attempt, evidence).kind;
}

/** What proves, by the rule itself, that another transaction ended the nonce: the time of the answers, and the nodes that return it. */
function endOf(evidence: NonceEvidence): { readonly at: number; readonly shownBy: readonly string[] } {
  const { use: used, bypass: passed, coverage: blocks, quorum } = evidence;
  const isForeign = used?.signature === 'other' && used.nonceAccount === 'account' && used.nonce === 'old';
  if (used !== null && isForeign && new Set(used.shownBy).size >= quorum)
    return { at: used.sequence, shownBy: used.shownBy };
  if (passed === null || blocks === null) throw new Error('dead without an end of its nonce');
  expect(passed).toMatchObject({ signature: 'past', nonceAccount: 'account' });
  expect(passed.slot).toBeGreaterThan(1500n);
  expect(blocks.first.slot).toBeLessThanOrEqual(1500n);
  expect(blocks.last.slot).toBeGreaterThanOrEqual(passed.slot);
  for (const { agreeingNodes } of [blocks.first, blocks.last])
    expect(new Set(agreeingNodes).size).toBeGreaterThanOrEqual(quorum);
  return { at: blocks.sequence, shownBy: passed.shownBy };
}

describe('an attempt with a durable nonce is dead', () => {
  it('with another nonce, its use by another transaction, and later nulls of a quorum', () => {
    expect(judgeNonceAttempt(ATTEMPT, deathEvidence())).toEqual({ kind: 'dead' });
  });

  it('never while any evidence shows that it may live', () => {
    const dead = { byUse: 0, byBlocks: 0 };
    fc.assert(
      fc.property(anyEvidence, (evidence) => {
        if (kind(evidence) !== 'dead') return;
        const { quorum, finalizedNonces, statuses, outcomeConfirmedBy } = evidence;
        const { at: known, shownBy } = endOf(evidence);
        dead[evidence.use !== null && known === evidence.use.sequence ? 'byUse' : 'byBlocks'] += 1;
        expect(new Set(shownBy).size).toBeGreaterThanOrEqual(quorum);
        expect(evidence.use?.signature).not.toBe('sig');
        expect(evidence.coverage?.containsSignature).not.toBe(true);
        expect(statuses.some(({ answer }) => answer.kind === 'seen')).toBe(false);
        expect(outcomeConfirmedBy).toEqual([]);
        const unadvanced = new Set(
          finalizedNonces.filter((one) => one.answer === 'old').map((one) => one.node),
        );
        const silent = statuses.filter(({ answer, sequence: at, node: by }) => {
          const before = finalizedNonces.filter((one) => one.answer !== 'old' && one.sequence < at);
          const confirming = new Set(before.map((one) => one.node).filter((one) => !unadvanced.has(one)));
          const isConfirming = confirming.has(by) && shownBy.includes(by);
          return answer.kind === 'absent' && at > known && isConfirming && confirming.size >= quorum;
        });
        expect(new Set(silent.map((one) => one.node)).size).toBeGreaterThanOrEqual(quorum);
      }),
      RUNS,
    );
    // 55 and 35 are usual. By chance less than one of a million runs finds so few as this.
    expect(dead.byUse).toBeGreaterThan(20);
    expect(dead.byBlocks).toBeGreaterThan(5);
  });

  it('with another nonce, a later advance, linked blocks without it, and later nulls of the nodes that return them', () => {
    expect(judgeNonceAttempt(ATTEMPT, bypassEvidence())).toEqual({ kind: 'dead' });
    const spoilt: readonly Partial<NonceEvidence>[] = [
      { quorum: 3 },
      { finalizedNonces: [nodeAnswer('a', 1, 'new'), nodeAnswer('b', 2, 'old')] },
      { bypass: null },
      { bypass: bypass({ signature: 'sig' }) },
      { bypass: bypass({ nonceAccount: 'twin' }) },
      { bypass: bypass({ slot: 1500n }) },
      { bypass: bypass({ slot: 2001n }) },
      { bypass: bypass({ shownBy: ['a', 'a'] }) },
      { bypass: bypass({ shownBy: ['a', 'c'] }) },
      { coverage: null },
      { coverage: life({ containsSignature: true }) },
      { coverage: life({ first: { slot: 1501n } }) },
      { coverage: life({ last: { slot: 1999n } }) },
      { coverage: life({ first: { agreeingNodes: ['a'] } }) },
      { coverage: life({ last: { agreeingNodes: ['b', 'b'] } }) },
      { coverage: life({ minAgreeingNodes: 1 }) },
      { coverage: life({ sequence: 31 }) },
      { statuses: [nodeAnswer('a', 30, ABSENT), nodeAnswer('b', 31, UNREADABLE)] },
      { statuses: [nodeAnswer('a', 30, ABSENT), nodeAnswer('b', 31, { ...ABSENT, atSlot: 1_999n })] },
      { statuses: [nodeAnswer('a', 30, ABSENT), nodeAnswer('b', 31, { ...ABSENT, historyFrom: 1_501n })] },
      {
        statuses: [
          nodeAnswer('a', 30, ABSENT),
          nodeAnswer('b', 31, ABSENT),
          nodeAnswer('c', 3, seen('finalized')),
        ],
      },
      { use: use({ signature: 'sig' }) },
    ];
    for (const changes of spoilt)
      expect(kind(bypassEvidence(changes)), JSON.stringify(Object.keys(changes))).not.toBe('dead');
  });

  it('no longer once any answer of the proof is removed or reversed', () => {
    const spoilt: readonly Partial<NonceEvidence>[] = [
      { quorum: 3 },
      { quorum: 0 },
      { quorum: Number.NaN },
      { finalizedNonces: [] },
      { finalizedNonces: [nodeAnswer('a', 1, 'new'), nodeAnswer('a', 2, 'new')] },
      { finalizedNonces: [nodeAnswer('a', 1, 'new'), nodeAnswer('b', 2, 'old')] },
      { finalizedNonces: [nodeAnswer('a', 1, 'new'), nodeAnswer('b', 2, 'new'), nodeAnswer('b', 3, 'old')] },
      { finalizedNonces: [nodeAnswer('a', 1, 'new'), nodeAnswer('b', 32, 'new')] },
      { use: null },
      { use: use({ signature: 'sig' }) },
      { use: use({ nonceAccount: 'twin' }) },
      { use: use({ nonce: 'older' }) },
      { use: use({ shownBy: ['a', 'a'] }) },
      { use: use({ sequence: 31 }) },
      { statuses: [] },
      { statuses: [nodeAnswer('a', 30, ABSENT), nodeAnswer('a', 31, ABSENT)] },
      { statuses: [nodeAnswer('a', 30, ABSENT), nodeAnswer('b', 20, ABSENT)] },
      { statuses: [nodeAnswer('a', 30, ABSENT), nodeAnswer('c', 31, ABSENT)] },
      { statuses: [nodeAnswer('a', 30, ABSENT), nodeAnswer('b', 31, UNREADABLE)] },
      { statuses: [...deathEvidence().statuses, nodeAnswer('c', 3, seen('processed'))] },
      { statuses: [...deathEvidence().statuses, nodeAnswer('c', 3, seen('finalized'))] },
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
  it('is alive while its nonce is unused, however long nodes answer null', () => {
    const finalizedNonces = [nodeAnswer('a', 1, 'old'), nodeAnswer('b', 2, 'old')];
    expect(judgeNonceAttempt(ATTEMPT, deathEvidence({ finalizedNonces, use: null }))).toEqual({
      kind: 'alive',
      seen: null,
    });
  });

  it('is alive while a node sees it below finalized, and is held with a reason once a quorum has another nonce', () => {
    const [a, b, c] = [
      nodeAnswer('a', 30, ABSENT),
      nodeAnswer('b', 31, ABSENT),
      nodeAnswer('c', 32, seen('confirmed')),
    ];
    const statuses = [a, b, c];
    const nonces = [nodeAnswer('a', 1, 'new'), nodeAnswer('b', 2, 'old')];
    const alive = { kind: 'alive', seen: 'confirmed' };
    expect(
      judgeNonceAttempt(ATTEMPT, deathEvidence({ statuses, finalizedNonces: nonces, use: null })),
    ).toEqual(alive);
    const held = (changes: Partial<NonceEvidence>) =>
      judgeNonceAttempt(ATTEMPT, deathEvidence({ statuses, ...changes }));
    expect(held({})).toMatchObject({
      kind: 'unknown',
      reason: expect.stringMatching(
        /^c reports the transaction as confirmed in slot \d+, but other used up its nonce$/,
      ),
    });
    for (const found of [null, use({ signature: 'sig' }), use({ shownBy: ['a'] })])
      expect(held({ use: found })).toMatchObject({
        kind: 'unknown',
        reason: expect.stringMatching(
          /^c reports the transaction as confirmed .*used up, and no node reports the transaction as finalized$/,
        ),
      });
  });

  it('has failed when it is finalized with an error, although its nonce advanced', () => {
    const statuses = [nodeAnswer('a', 30, seen('finalized', 'InstructionError'))];
    const ran = { statuses, outcomeConfirmedBy: ['b'], chargedBy: ['b'] };
    const failed = { kind: 'failed', error: 'InstructionError' };
    for (const changes of [{}, { use: null }, { use: null, finalizedNonces: [] }]) {
      const evidence = deathEvidence({ use: use({ signature: 'sig' }), ...ran, ...changes });
      expect(judgeNonceAttempt(ATTEMPT, evidence)).toMatchObject(failed);
    }
    expect(kind(deathEvidence(ran))).toBe('unknown');
  });

  it('is alive while its nonce is unused after a block includes it without executing it, and failed once another one used the nonce', () => {
    const statuses = [nodeAnswer('a', 30, seen('finalized', 'AccountNotFound')), nodeAnswer('b', 31, ABSENT)];
    const included = deathEvidence({ statuses, outcomeConfirmedBy: ['b'], use: null });
    const nonces = [nodeAnswer('a', 1, 'old'), nodeAnswer('b', 2, 'old')];
    for (const finalizedNonces of [nonces, [nodeAnswer('a', 1, 'new'), nodeAnswer('b', 2, 'old')], []])
      expect(judgeNonceAttempt(ATTEMPT, { ...included, finalizedNonces })).toEqual({
        kind: 'alive',
        seen: null,
      });
    // It may have run in an earlier slot under the same signature.
    expect(kind(included)).toBe('unknown');
    expect(kind({ ...included, use: use({ signature: 'sig' }) })).toBe('unknown');
    expect(kind({ ...included, use: use({ shownBy: ['a'] }) })).toBe('unknown');
    expect(judgeNonceAttempt(ATTEMPT, { ...included, use: use() })).toMatchObject({
      kind: 'failed',
      error: 'AccountNotFound',
    });
    expect(kind({ ...included, use: use(), outcomeConfirmedBy: [] })).not.toBe('failed');
  });

  it('is unknown when nodes contradict each other about the transaction that used the nonce', () => {
    const statuses = [nodeAnswer('a', 30, seen('finalized')), nodeAnswer('b', 31, ABSENT)];
    expect(kind(deathEvidence({ statuses, outcomeConfirmedBy: ['b'] }))).toBe('unknown');
  });
});

describe('an attempt with a durable nonce and no known signature', () => {
  const unsigned = { ...ATTEMPT, signature: null, messageHash: 'own' };

  it.each<[string, Partial<NonceEvidence>, string | null, string]>([
    ['is dead when another message used its nonce', {}, 'another', 'dead'],
    ['is not dead when its own message used the nonce', {}, 'own', 'unknown'],
    ['is not dead when no bytes show which message used the nonce', {}, null, 'unknown'],
    [
      'is not dead when only one node returns that',
      { use: use({ shownBy: ['a', 'a'] }) },
      'another',
      'unknown',
    ],
    [
      'is not dead by the use of another account',
      { use: use({ nonceAccount: 'twin' }) },
      'another',
      'unknown',
    ],
    ['is not dead by the use of another value', { use: use({ nonce: 'older' }) }, 'another', 'unknown'],
    ['is not dead by a later advance', { use: null, bypass: bypass() }, null, 'unknown'],
    [
      'is not dead while too few nodes return its nonce',
      { finalizedNonces: [nodeAnswer('a', 1, 'new')] },
      'another',
      'unknown',
    ],
    [
      'is alive while one node of a quorum still has its nonce',
      { finalizedNonces: [nodeAnswer('a', 1, 'new'), nodeAnswer('b', 2, 'old')] },
      'another',
      'alive',
    ],
  ])('%s', (_what, changes, usedBy, verdict) => {
    expect(judgeUnsignedNonce(unsigned, deathEvidence({ statuses: [], ...changes }), usedBy).kind).toBe(
      verdict,
    );
  });
});
