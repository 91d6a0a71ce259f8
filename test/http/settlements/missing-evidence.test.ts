import fc from 'fast-check';
import { expect, test } from 'vitest';
import { missingOf, missingOfNonce } from '../../../src/http/settlements/missing-evidence.ts';
import { judgeAttempt } from '../../../src/solana/proof/judge.ts';
import {
  ABSENT,
  ATTEMPT,
  anyAttempt,
  anyEvidence,
  coverage,
  deathEvidence,
  nodeAnswer,
  seen,
  UNREADABLE,
} from '../../domain/evidence.ts';

const NODES = ['a', 'b', 'c'];

test('a proof of death lacks only the answers of nodes beyond the quorum', () => {
  expect(missingOf(ATTEMPT, deathEvidence(), NODES)).toEqual([
    { node: 'c', what: 'its finalized block height' },
  ]);
  fc.assert(
    fc.property(anyAttempt, anyEvidence, (attempt, evidence) => {
      const missing = missingOf(attempt, evidence, NODES);
      const answered = new Set(evidence.finalizedHeights.map(({ node }) => node));
      const silent = missing.filter(({ what }) => what === 'its finalized block height');
      expect(silent.map(({ node }) => node)).toEqual(NODES.filter((node) => !answered.has(node)));
      if (judgeAttempt(attempt, evidence).kind === 'dead')
        expect(missing.filter(({ node }) => node === null)).toEqual([]);
    }),
  );
});

test('the missing evidence names the node that is behind, the unreadable node, and the parts that need several nodes', () => {
  const behind = deathEvidence({ finalizedHeights: [nodeAnswer('a', 1, 1151n), nodeAnswer('b', 2, 1150n)] });
  expect(missingOf(ATTEMPT, behind, ['a', 'b'])).toEqual([
    { node: 'b', what: 'finalized blocks above 1150: it is at 1150' },
  ]);
  const taking = deathEvidence({ stillTaking: ['b'] });
  expect(missingOf(ATTEMPT, taking, ['a', 'b'])).toEqual([
    { node: 'b', what: 'the expiry of its blockhash, which its finalized bank still accepts' },
  ]);
  const mute = deathEvidence({ statuses: [nodeAnswer('a', 30, ABSENT), nodeAnswer('b', 31, UNREADABLE)] });
  expect(missingOf(ATTEMPT, mute, ['a', 'b'])).toEqual([
    { node: 'b', what: 'the status of its signature: timeout' },
  ]);
  const unlinked = deathEvidence({ coverage: null });
  expect(missingOf(ATTEMPT, unlinked, ['a', 'b'])).toEqual([
    { node: null, what: 'linked finalized blocks to above height 1150' },
  ]);
  expect(missingOf(ATTEMPT, { ...unlinked, origin: null }, ['a', 'b'])).toEqual([
    { node: null, what: 'the block of blockhash hash-1000, returned by 2 nodes' },
  ]);
  const adopted = { ...ATTEMPT, adoptedFrom: 'hash-990' };
  expect(missingOf(adopted, { ...unlinked, origin: null }, ['a', 'b'])).toEqual([
    { node: null, what: 'the block of blockhash hash-990, returned by 2 nodes' },
  ]);
  expect(missingOf({ ...ATTEMPT, signature: null }, deathEvidence(), ['a', 'b'])).toEqual([
    { node: null, what: 'the signature, which is needed to query the nodes' },
  ]);
});

test('the missing evidence names the nodes that could confirm an outcome as the second node', () => {
  const alone = deathEvidence({
    statuses: [nodeAnswer('a', 30, seen('finalized')), nodeAnswer('b', 31, ABSENT)],
  });
  const what = 'a confirmation of the finalized outcome that another node returns';
  expect(missingOf(ATTEMPT, alone, ['a', 'b'])).toEqual([{ node: 'b', what }]);
  expect(missingOf(ATTEMPT, { ...alone, outcomeConfirmedBy: ['b'] }, ['a', 'b'])).toEqual([]);
});

test('the missing evidence of a durable nonce names the attempt that holds it, and the transaction that used it', () => {
  const attempt = { signature: 'sig', nonceAccount: 'account', nonce: 'n1', nonceSlot: 5n };
  const use = { ...attempt, signature: 'other', slot: 7n, shownBy: ['a', 'b'], sequence: 3 };
  const evidence = {
    quorum: 2,
    statuses: [nodeAnswer('a', 30, ABSENT), nodeAnswer('b', 31, ABSENT)],
    outcomeConfirmedBy: [],
    chargedBy: [],
    finalizedNonces: [nodeAnswer('a', 1, 'n2'), nodeAnswer('b', 2, 'n2')],
    use,
    bypass: null,
    coverage: null,
  };
  expect(missingOfNonce(attempt, evidence, ['a', 'b'])).toEqual([]);
  expect(missingOfNonce(attempt, { ...evidence, use: { ...use, shownBy: ['a'] } }, ['a', 'b'])).toEqual([
    { node: null, what: 'the transaction that used up its nonce, returned by 2 nodes' },
  ]);
  const standing = [nodeAnswer('a', 1, 'n1')];
  expect(missingOfNonce(attempt, { ...evidence, use: null, finalizedNonces: standing }, ['a', 'b'])).toEqual([
    { node: 'a', what: 'the advance of its nonce, which is still valid there' },
    { node: 'b', what: 'the finalized nonce of account' },
  ]);
  const passed = { ...evidence, use: null, bypass: { ...use, slot: 9n } };
  expect(missingOfNonce(attempt, passed, ['a', 'b'])).toEqual([
    { node: null, what: 'linked finalized blocks from 5 to 9' },
  ]);
  expect(missingOfNonce(attempt, { ...passed, coverage: coverage() }, ['a', 'b'])).toEqual([]);
});
