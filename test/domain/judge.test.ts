import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { AttemptFacts, Evidence, Sighting } from '../../src/domain/attempt.ts';
import { deathHeight, judgeAttempt } from '../../src/domain/judge.ts';
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

describe('deathHeight', () => {
  const last = (lastValidBlockHeight: bigint, originHeight = 1000n, blockhashHeight = 1000n) =>
    deathHeight({ ...ATTEMPT, blockhashHeight, lastValidBlockHeight }, originHeight);

  it('is counted from the height that a quorum gives the blockhash, and one more where the attempt claims more', () => {
    expect(last(1149n)).toBe(1150n);
    expect(last(1150n)).toBe(1150n);
    expect(last(1151n)).toBe(1151n);
  });

  it('follows no claim downwards, and none that is wildly high', () => {
    expect(last(1005n, 1000n, 855n)).toBe(1150n);
    expect(last(10n ** 15n)).toBe(1151n);
    expect(last(1150n, 1000n, 10n ** 15n)).toBe(1151n);
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
      expect(mentions(evidence, (answer) => answer.kind === 'seen' && answer.slot > 3000n)).toBe(false);
      expect(evidence.coverage?.containsSignature).toBe(false);
      expect(evidence.outcomeConfirmedBy).toEqual([]);
    });
  });

  it('never without a quorum of finalized heights above L, the whole coverage and later nulls', () => {
    whereDead((evidence, attempt) => {
      const { quorum, origin, coverage: blocks } = evidence;
      if (blocks === null || origin === null) throw new Error('dead without blocks');
      const last = deathHeight(attempt, origin.height);
      expect(blocks.last.height).toBeGreaterThan(last);
      for (const { blockhash, height } of [origin, blocks.first])
        expect([blockhash, height]).toEqual([attempt.blockhash, origin.height]);
      for (const { agreeingNodes } of [origin, blocks.first, blocks.last])
        expect(new Set(agreeingNodes).size).toBeGreaterThanOrEqual(quorum);
      const silent = evidence.statuses.filter(({ answer, sequence }) => {
        const before = evidence.finalizedHeights.filter(
          (one) => one.answer > last && one.sequence < sequence,
        );
        const witnesses = new Set(before.map((one) => one.node));
        return answer.kind === 'absent' && sequence > blocks.sequence && witnesses.size >= quorum;
      });
      expect(new Set(silent.map((one) => one.node)).size).toBeGreaterThanOrEqual(quorum);
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
      { statuses: [] },
      { statuses: [said('a', 30, ABSENT), said('a', 31, ABSENT)] },
      { statuses: [said('a', 30, ABSENT), said('b', 20, ABSENT)] },
      { statuses: [said('a', 30, ABSENT), said('c', 31, ABSENT)] },
      { statuses: [said('a', 30, ABSENT), said('b', 31, UNREADABLE)] },
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
