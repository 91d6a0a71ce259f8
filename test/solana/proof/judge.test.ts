import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { judgeAttempt } from '../../../src/solana/proof/judge.ts';
import {
  ABSENT,
  ATTEMPT,
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
} from '../../domain/evidence.ts';

describe('an attempt has landed or failed', () => {
  const finalized = [nodeAnswer('a', 1, seen('finalized'))];

  it('only when a second node returns the same finalized outcome', () => {
    const base = deathEvidence({ coverage: null, statuses: finalized });
    expect(judgeAttempt(ATTEMPT, base)).toEqual({ kind: 'alive', seen: 'confirmed' });
    expect(kindOf({ ...base, outcomeConfirmedBy: ['a'] })).toBe('alive');
    expect(judgeAttempt(ATTEMPT, { ...base, outcomeConfirmedBy: ['b'] })).toEqual({
      kind: 'landed',
      slot: 2000n,
    });
  });

  it('as failed, with the error of the chain', () => {
    const statuses = [nodeAnswer('a', 1, seen('finalized', 'custom program error: 0x1'))];
    expect(
      judgeAttempt(ATTEMPT, deathEvidence({ coverage: null, statuses, outcomeConfirmedBy: ['b'] })),
    ).toEqual({
      kind: 'failed',
      slot: 2000n,
      error: 'custom program error: 0x1',
    });
  });

  it('by one node alone only when the quorum is one', () => {
    const single = deathEvidence({
      quorum: 1,
      coverage: null,
      statuses: finalized,
      outcomeConfirmedBy: ['a'],
    });
    expect(kindOf(single)).toBe('landed');
  });

  it('also when the linked blocks hold it, although they contain no outcome', () => {
    const blocks = coverage({ containsSignature: true });
    expect(
      kindOf(deathEvidence({ coverage: blocks, statuses: finalized, outcomeConfirmedBy: ['scan'] })),
    ).toBe('landed');
    expect(kindOf(deathEvidence({ coverage: blocks }))).toBe('unknown');
  });

  it('never by contradicting nodes', () => {
    const statuses = [...finalized, nodeAnswer('b', 2, seen('finalized', 'error'))];
    expect(kindOf(deathEvidence({ coverage: null, statuses, outcomeConfirmedBy: ['b'] }))).toBe('unknown');
    expect(kindOf(deathEvidence({ statuses: finalized, outcomeConfirmedBy: ['b'] }))).toBe('unknown');
  });

  it('never without a finalized status and a confirmation, on any evidence', () => {
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
      const statuses = [nodeAnswer('a', 30, seen(commitment)), nodeAnswer('b', 31, ABSENT)];
      const alive = { kind: 'alive', seen: commitment };
      expect(judgeAttempt(ATTEMPT, deathEvidence({ coverage: null, statuses }))).toEqual(alive);
      expect(
        judgeAttempt(ATTEMPT, deathEvidence({ coverage: coverage({ last: { height: 1150n } }), statuses })),
      ).toEqual(alive);
      expect(kindOf(deathEvidence({ statuses }))).toBe('unknown');
    }
  });

  it('alive while a quorum answers null and the finalized height is not above L', () => {
    const finalizedHeights = [nodeAnswer('a', 1, 1150n), nodeAnswer('b', 2, 1150n)];
    expect(judgeAttempt(ATTEMPT, deathEvidence({ finalizedHeights, coverage: null }))).toEqual({
      kind: 'alive',
      seen: null,
    });
  });

  it('unknown when its last height is unreachable and no quorum returns its block, alive when one does', () => {
    const wild = { ...ATTEMPT, lastValidBlockHeight: 10n ** 15n };
    const finalizedHeights = [nodeAnswer('a', 1, 1100n), nodeAnswer('b', 2, 1100n)];
    const evidence = deathEvidence({ finalizedHeights, coverage: null });
    expect(kindOf(evidence, wild)).toBe('alive');
    expect(kindOf({ ...evidence, origin: null }, wild)).toBe('unknown');
    expect(kindOf(deathEvidence({ coverage: coverage({ last: { height: 1152n } }) }), wild)).toBe('alive');
    const past = [nodeAnswer('a', 1, 1152n), nodeAnswer('b', 2, 1160n)];
    const dead = { finalizedHeights: past, coverage: coverage({ last: { height: 1152n } }) };
    expect(kindOf(deathEvidence(dead), wild)).toBe('dead');
  });

  it('unknown while fewer than a quorum can be read', () => {
    const finalizedHeights = [nodeAnswer('a', 1, 1150n), nodeAnswer('b', 2, 1150n)];
    const statuses = [nodeAnswer('a', 30, ABSENT), nodeAnswer('b', 31, UNREADABLE)];
    expect(kindOf(deathEvidence({ finalizedHeights, statuses, coverage: null }))).toBe('unknown');
    expect(kindOf(deathEvidence({ finalizedHeights: [], coverage: null }))).toBe('unknown');
    expect(kindOf(deathEvidence({ statuses }))).toBe('unknown');
  });
});
