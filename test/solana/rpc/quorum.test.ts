import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  type Answer,
  agree,
  answersIn,
  highestQuorumValue,
  versionsOf,
} from '../../../src/solana/rpc/quorum.ts';

const same = (one: number, other: number) => one === other;
const named = (values: readonly number[]): Answer<number>[] =>
  values.map((answer, index) => ({ node: `node${index}`, answer }));
const majorityOf = (nodes: number) => Math.max(2, Math.floor(nodes / 2) + 1);

/** Answers of two to seven nodes; few different values, so that nodes often agree. */
const answers = fc.array(fc.nat(3), { minLength: 2, maxLength: 7 }).map(named);

describe('agree', () => {
  it('returns an answer only when a quorum of nodes returns it', () => {
    fc.assert(
      fc.property(answers, fc.integer({ min: 1, max: 7 }), (given, quorum) => {
        const agreed = agree(given, quorum, same);
        const counts = given.map(({ answer }) => given.filter((other) => other.answer === answer).length);
        expect(agreed === null).toBe(Math.max(...counts) < quorum);
        if (agreed === null) return;
        const agreeing = given.filter(({ answer }) => answer === agreed.answer).map(({ node }) => node);
        expect(agreed.nodes).toEqual(agreeing);
        expect(agreed.nodes.length).toBeGreaterThanOrEqual(quorum);
      }),
    );
  });

  it('never returns the answer of one lying node, and no order of the answers changes the result', () => {
    fc.assert(
      fc.property(fc.integer({ min: 2, max: 7 }), fc.nat(6), fc.integer(), (nodes, at, lie) => {
        const given = named(Array.from({ length: nodes }, (_, index) => (index === at % nodes ? lie : 7)));
        const quorum = majorityOf(nodes);
        const agreed = agree(given, quorum, same)?.answer ?? null;
        expect([7, null]).toContain(agreed);
        expect(agree(given.toReversed(), quorum, same)?.answer ?? null).toBe(agreed);
      }),
    );
  });

  it('counts a node once, however often it answers', () => {
    fc.assert(
      fc.property(fc.nat(5), fc.integer({ min: 1, max: 5 }), (answer, times) => {
        const repeated = Array.from({ length: times }, () => ({ node: 'one', answer }));
        expect(agree(repeated, 2)).toBeNull();
        expect(agree([...repeated, { node: 'other', answer }], 2)?.nodes).toEqual(['one', 'other']);
      }),
    );
  });

  it('returns no answer if the comparison never matches', () => {
    const nothing = [null, null, null].map((answer, index) => ({ node: `node${index}`, answer }));
    expect(agree(nothing, 2, () => false)).toBeNull();
    expect(agree<number>([], 1)).toBeNull();
  });
});

describe('versionsOf', () => {
  it('names each node with the answer that it returned, the most frequent answer first', () => {
    fc.assert(
      fc.property(answers, (given) => {
        const versions = versionsOf(given, same);
        expect(new Set(versions.map(({ answer }) => answer))).toEqual(
          new Set(given.map(({ answer }) => answer)),
        );
        const sizes = versions.map(({ nodes }) => nodes.length);
        expect(sizes).toEqual(sizes.toSorted((a, b) => b - a));
        expect(versions.flatMap(({ nodes }) => nodes).toSorted()).toEqual(
          given.map(({ node }) => node).toSorted(),
        );
      }),
    );
  });
});

describe('reached', () => {
  const values = fc.array(fc.bigInt({ min: 0n, max: 20n }), { maxLength: 7 });

  it('is the greatest value that a quorum of values reaches; null with fewer values', () => {
    fc.assert(
      fc.property(values, fc.integer({ min: 1, max: 7 }), (given, quorum) => {
        const value = highestQuorumValue(given, quorum);
        const reaching = (least: bigint) => given.filter((one) => one >= least).length;
        const all = given.filter((one) => reaching(one) >= quorum);
        expect(value).toBe(all.length === 0 ? null : all.reduce((a, b) => (a > b ? a : b)));
      }),
    );
  });

  it('is not above every honest value, whatever one node returns', () => {
    const honest = fc.array(fc.bigInt({ min: 0n, max: 20n }), { minLength: 1, maxLength: 6 });
    fc.assert(
      fc.property(honest, fc.bigInt({ min: 0n, max: 1_000_000n }), (given, lie) => {
        const value = highestQuorumValue([...given, lie], majorityOf(given.length + 1));
        if (value !== null) expect(given.some((one) => one >= value)).toBe(true);
      }),
    );
  });
});

it('answered() drops the nodes without an answer, and keeps the order of the others', () => {
  const results = [
    { node: 'a', result: { status: 'fulfilled', value: 1 } },
    { node: 'b', result: { status: 'rejected', reason: new Error('down') } },
    { node: 'c', result: { status: 'fulfilled', value: 2 } },
  ] as const;
  expect(answersIn(results)).toEqual([
    { node: 'a', answer: 1 },
    { node: 'c', answer: 2 },
  ]);
});
