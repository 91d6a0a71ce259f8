import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { AgreedBlock, AttemptFacts, Evidence, Sighting } from '../../src/domain/attempt.ts';
import { claimedHeight, deathHeight, judgeAttempt } from '../../src/domain/judge.ts';
import {
  ABSENT,
  ATTEMPT,
  agreed,
  anyAttempt,
  anyEvidence,
  coverage,
  deathEvidence,
  said,
  seen,
  UNREADABLE,
} from './evidence.ts';

const RUNS = { numRuns: 20_000 };

function kind(evidence: Evidence, attempt: AttemptFacts = ATTEMPT): string {
  return judgeAttempt(attempt, evidence).kind;
}

function mentions(evidence: Evidence, test: (answer: Sighting) => boolean): boolean {
  return evidence.statuses.some((status) => test(status.answer));
}

/** Runs `check` on random evidence, but only where the verdict is dead; fails when that never happened. */
function whereDead(check: (evidence: Evidence, attempt: AttemptFacts) => void): void {
  let dead = 0;
  fc.assert(
    fc.property(anyAttempt, anyEvidence, (attempt, evidence) => {
      if (kind(evidence, attempt) !== 'dead') return;
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
    return { last: claimedHeight(attempt), sequence };
  }
  if (blocks === null) throw new Error('dead without blocks');
  const last = deathHeight(attempt, origin.height);
  expect(blocks.last.height).toBeGreaterThan(last);
  expect([blocks.first.blockhash, blocks.first.height]).toEqual([attempt.blockhash, origin.height]);
  agree([origin, blocks.first, blocks.last]);
  return { last, sequence: blocks.sequence };
}

describe('an attempt whose blockhash a fork took', () => {
  const by = agreed({ slot: 2501n, blockhash: 'another' });
  const displacement = { slot: 2500n, by, parentSlot: 2499n, sequence: 20 };
  const gone = (changes: Partial<Evidence> = {}) =>
    deathEvidence({ origin: null, coverage: null, displacement, ...changes });

  it('is dead with heights, another block of a quorum in its place and later nulls', () => {
    expect(kind(gone())).toBe('dead');
    expect(kind(gone({ displacement: { ...displacement, by: { ...by, slot: 2500n } } }))).toBe('dead');
  });

  it.each<[string, Partial<Evidence>]>([
    ['nothing shows what displaced it', { displacement: null }],
    [
      'one node alone shows it',
      { displacement: { ...displacement, by: { ...by, agreeingNodes: ['a', 'a'] } } },
    ],
    ['a block between may be missing', { displacement: { ...displacement, parentSlot: 2500n } }],
    ['it is told of another slot', { displacement: { ...displacement, slot: 2499n, parentSlot: 2498n } }],
    [
      'what is in its place carries the blockhash',
      { displacement: { ...displacement, by: { ...by, blockhash: 'hash-1000' } } },
    ],
    [
      'a null comes from below its last height',
      { statuses: [said('a', 30, ABSENT), said('b', 31, { ...ABSENT, atSlot: 2_650n })] },
    ],
    ['the nulls came before', { statuses: [said('a', 3, ABSENT), said('b', 4, ABSENT)] }],
    ['a node reports it finalized', { statuses: [said('a', 30, seen('finalized')), said('b', 31, ABSENT)] }],
    ['a finalized bank of the quorum still takes its blockhash', { stillTaking: ['a'] }],
    ['no quorum is past its last height', { finalizedHeights: [said('a', 1, 1151n), said('b', 2, 1150n)] }],
  ])('is not dead where %s', (_, changes) => {
    expect(kind(gone(changes))).not.toBe('dead');
  });

  it('lives again where a quorum shows the block of its blockhash after all', () => {
    expect(kind(gone({ origin: agreed() }))).toBe('unknown');
  });

  it('is not kept alive by a node that still shows it on the dead fork', () => {
    const statuses = [said('a', 30, ABSENT), said('b', 31, ABSENT), said('c', 32, seen('confirmed'))];
    expect(kind(gone({ statuses }))).toBe('dead');
  });
});

describe('an attempt is dead', () => {
  it('with heights, coverage and later nulls of a quorum', () => {
    expect(judgeAttempt(ATTEMPT, deathEvidence())).toEqual({ kind: 'dead' });
  });

  it('though it was once seen on a fork that the coverage refutes', () => {
    const statuses = [said('a', 3, seen('confirmed')), ...deathEvidence().statuses];
    expect(kind(deathEvidence({ statuses }))).toBe('dead');
  });

  it('never while any node ever showed it finalized, or the blocks hold it, or an outcome was confirmed', () => {
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

  it('never without a quorum of finalized heights above L, the whole coverage or another block in its place, and later nulls', () => {
    whereDead((evidence, attempt) => {
      const { last, sequence: provedAt } = proofOf(evidence, attempt);
      const silent = evidence.statuses.filter(({ answer, sequence }) => {
        const before = evidence.finalizedHeights.filter(
          (one) => one.answer > last && one.sequence < sequence && !evidence.stillTaking.includes(one.node),
        );
        const witnesses = new Set(before.map((one) => one.node));
        return answer.kind === 'absent' && sequence > provedAt && witnesses.size >= evidence.quorum;
      });
      expect(new Set(silent.map((one) => one.node)).size).toBeGreaterThanOrEqual(evidence.quorum);
    });
  });

  it('never again once any answer of the proof is taken away or turned', () => {
    const spoilt: readonly Partial<Evidence>[] = [
      { quorum: 3 },
      { quorum: 0 },
      { quorum: Number.NaN },
      { finalizedHeights: [] },
      { finalizedHeights: [said('a', 1, 1151n), said('a', 2, 1151n)] },
      { finalizedHeights: [said('a', 1, 1151n), said('b', 2, 1150n)] },
      { finalizedHeights: [said('a', 1, 1151n), said('b', 32, 1151n)] },
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
      { coverage: coverage({ witnesses: 1 }) },
      { statuses: [] },
      { statuses: [said('a', 30, ABSENT), said('a', 31, ABSENT)] },
      { statuses: [said('a', 30, ABSENT), said('b', 20, ABSENT)] },
      { statuses: [said('a', 30, ABSENT), said('c', 31, ABSENT)] },
      { statuses: [said('a', 30, ABSENT), said('b', 31, UNREADABLE)] },
      { statuses: [said('a', 30, ABSENT), said('b', 31, { ...ABSENT, atSlot: 2_999n })] },
      { statuses: [said('a', 30, ABSENT), said('b', 31, { ...ABSENT, atSlot: null })] },
      { statuses: [said('a', 30, ABSENT), said('b', 31, { ...ABSENT, historyFrom: 2_501n })] },
      { statuses: [said('a', 30, ABSENT), said('b', 31, { ...ABSENT, historyFrom: null })] },
      { statuses: [said('a', 30, ABSENT), said('b', 31, ABSENT), said('b', 33, seen('confirmed'))] },
      { statuses: [...deathEvidence().statuses, said('c', 3, seen('finalized'))] },
      { outcomeConfirmedBy: ['a'] },
    ];
    for (const changes of spoilt)
      expect(kind(deathEvidence(changes)), JSON.stringify(Object.keys(changes))).not.toBe('dead');
  });

  it('never while its signature is not known', () => {
    fc.assert(
      fc.property(anyEvidence, (evidence) => kind(evidence, { ...ATTEMPT, signature: null }) === 'unknown'),
    );
  });
});

describe('an attempt has landed or failed', () => {
  const witness = [said('a', 1, seen('finalized'))];

  it('only when a second node shows the same finalized outcome', () => {
    const base = deathEvidence({ coverage: null, statuses: witness });
    expect(judgeAttempt(ATTEMPT, base)).toEqual({ kind: 'alive', seen: 'confirmed' });
    expect(kind({ ...base, outcomeConfirmedBy: ['a'] })).toBe('alive');
    expect(judgeAttempt(ATTEMPT, { ...base, outcomeConfirmedBy: ['b'] })).toEqual({
      kind: 'landed',
      slot: 2000n,
    });
  });

  it('as failed, with the error of the chain', () => {
    const statuses = [said('a', 1, seen('finalized', 'custom program error: 0x1'))];
    expect(
      judgeAttempt(ATTEMPT, deathEvidence({ coverage: null, statuses, outcomeConfirmedBy: ['b'] })),
    ).toEqual({
      kind: 'failed',
      slot: 2000n,
      error: 'custom program error: 0x1',
    });
  });

  it('by one node alone only where the quorum is one', () => {
    const single = deathEvidence({ quorum: 1, coverage: null, statuses: witness, outcomeConfirmedBy: ['a'] });
    expect(kind(single)).toBe('landed');
  });

  it('also where the linked blocks hold it, which alone tell no outcome', () => {
    const blocks = coverage({ containsSignature: true });
    expect(kind(deathEvidence({ coverage: blocks, statuses: witness, outcomeConfirmedBy: ['scan'] }))).toBe(
      'landed',
    );
    expect(kind(deathEvidence({ coverage: blocks }))).toBe('unknown');
  });

  it('never by contradicting nodes', () => {
    const statuses = [...witness, said('b', 2, seen('finalized', 'error'))];
    expect(kind(deathEvidence({ coverage: null, statuses, outcomeConfirmedBy: ['b'] }))).toBe('unknown');
    expect(kind(deathEvidence({ statuses: witness, outcomeConfirmedBy: ['b'] }))).toBe('unknown');
  });

  it('never without a finalized sighting and a confirmation, on any evidence', () => {
    fc.assert(
      fc.property(anyAttempt, anyEvidence, (attempt, evidence) => {
        const verdict = judgeAttempt(attempt, evidence);
        if (verdict.kind !== 'landed' && verdict.kind !== 'failed') return;
        const error = verdict.kind === 'failed' ? verdict.error : null;
        expect(evidence.outcomeConfirmedBy.length).toBeGreaterThan(0);
        expect(
          mentions(
            evidence,
            (answer) =>
              answer.kind === 'seen' &&
              answer.commitment === 'finalized' &&
              answer.slot === verdict.slot &&
              answer.error === error,
          ),
        ).toBe(true);
      }),
      RUNS,
    );
  });
});

describe('an attempt is alive or unknown', () => {
  it('alive while seen below finalized, until the coverage passes L', () => {
    for (const commitment of ['processed', 'confirmed'] as const) {
      const statuses = [said('a', 30, seen(commitment)), said('b', 31, ABSENT)];
      const alive = { kind: 'alive', seen: commitment };
      expect(judgeAttempt(ATTEMPT, deathEvidence({ coverage: null, statuses }))).toEqual(alive);
      expect(
        judgeAttempt(ATTEMPT, deathEvidence({ coverage: coverage({ last: { height: 1150n } }), statuses })),
      ).toEqual(alive);
      expect(kind(deathEvidence({ statuses }))).toBe('unknown');
    }
  });

  it('alive while a quorum answers null and the finalized height is not above L', () => {
    const finalizedHeights = [said('a', 1, 1150n), said('b', 2, 1150n)];
    expect(judgeAttempt(ATTEMPT, deathEvidence({ finalizedHeights, coverage: null }))).toEqual({
      kind: 'alive',
      seen: null,
    });
  });

  it('unknown where its own last height is out of reach and no quorum shows its block, alive where one does', () => {
    const wild = { ...ATTEMPT, lastValidBlockHeight: 10n ** 15n };
    const finalizedHeights = [said('a', 1, 1100n), said('b', 2, 1100n)];
    const evidence = deathEvidence({ finalizedHeights, coverage: null });
    expect(kind(evidence, wild)).toBe('alive');
    expect(kind({ ...evidence, origin: null }, wild)).toBe('unknown');
    expect(kind(deathEvidence({ coverage: coverage({ last: { height: 1152n } }) }), wild)).toBe('alive');
    const past = [said('a', 1, 1152n), said('b', 2, 1160n)];
    const dead = { finalizedHeights: past, coverage: coverage({ last: { height: 1152n } }) };
    expect(kind(deathEvidence(dead), wild)).toBe('dead');
  });

  it('unknown while fewer than a quorum can be read', () => {
    const finalizedHeights = [said('a', 1, 1150n), said('b', 2, 1150n)];
    const statuses = [said('a', 30, ABSENT), said('b', 31, UNREADABLE)];
    expect(kind(deathEvidence({ finalizedHeights, statuses, coverage: null }))).toBe('unknown');
    expect(kind(deathEvidence({ finalizedHeights: [], coverage: null }))).toBe('unknown');
    expect(kind(deathEvidence({ statuses }))).toBe('unknown');
  });
});
