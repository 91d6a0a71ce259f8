import fc from 'fast-check';
import { expect, test } from 'vitest';
import { missingEvidence, missingNonceEvidence } from '../../../src/http/settlements/missing-evidence.ts';
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
  expect(missingEvidence(ATTEMPT, deathEvidence(), NODES)).toEqual([
    { node: 'c', what: 'the finalized block height of the node' },
  ]);
  fc.assert(
    fc.property(anyAttempt, anyEvidence, (attempt, evidence) => {
      const missing = missingEvidence(attempt, evidence, NODES);
      const answered = new Set(evidence.finalizedHeights.map(({ node }) => node));
      const silent = missing.filter(({ what }) => what === 'the finalized block height of the node');
      expect(silent.map(({ node }) => node)).toEqual(NODES.filter((node) => !answered.has(node)));
      if (judgeAttempt(attempt, evidence).kind === 'dead')
        expect(missing.filter(({ node }) => node === null)).toEqual([]);
    }),
  );
});

test('the missing evidence names the node that is behind, the unreadable node, and the parts that need several nodes', () => {
  const behind = deathEvidence({ finalizedHeights: [nodeAnswer('a', 1, 1151n), nodeAnswer('b', 2, 1150n)] });
  expect(missingEvidence(ATTEMPT, behind, ['a', 'b'])).toEqual([
    { node: 'b', what: 'a finalized block above height 1150: the node is at height 1150' },
  ]);
  const taking = deathEvidence({ stillTaking: ['b'] });
  expect(missingEvidence(ATTEMPT, taking, ['a', 'b'])).toEqual([
    { node: 'b', what: 'the expiry of the blockhash, which the finalized bank of the node still accepts' },
  ]);
  const mute = deathEvidence({ statuses: [nodeAnswer('a', 30, ABSENT), nodeAnswer('b', 31, UNREADABLE)] });
  expect(missingEvidence(ATTEMPT, mute, ['a', 'b'])).toEqual([
    { node: 'b', what: 'a readable status of the signature: timeout' },
  ]);
  const unlinked = deathEvidence({ coverage: null });
  expect(missingEvidence(ATTEMPT, unlinked, ['a', 'b'])).toEqual([
    { node: null, what: 'linked finalized blocks up to a height above 1150' },
  ]);
  expect(missingEvidence(ATTEMPT, { ...unlinked, origin: null }, ['a', 'b'])).toEqual([
    { node: null, what: 'the block with hash hash-1000, returned by 2 nodes' },
  ]);
  const adopted = { ...ATTEMPT, adoptedFrom: 'hash-990' };
  expect(missingEvidence(adopted, { ...unlinked, origin: null }, ['a', 'b'])).toEqual([
    { node: null, what: 'the block with hash hash-990, returned by 2 nodes' },
  ]);
  expect(missingEvidence({ ...ATTEMPT, signature: null }, deathEvidence(), ['a', 'b'])).toEqual([
    { node: null, what: 'the signature, which is needed to query the nodes' },
  ]);
});

test('the missing evidence names the nodes that could confirm an outcome as the second node', () => {
  const alone = deathEvidence({
    statuses: [nodeAnswer('a', 30, seen('finalized')), nodeAnswer('b', 31, ABSENT)],
  });
  const what = 'a confirmation of the finalized outcome that another node returns';
  expect(missingEvidence(ATTEMPT, alone, ['a', 'b'])).toEqual([{ node: 'b', what }]);
  expect(missingEvidence(ATTEMPT, { ...alone, outcomeConfirmedBy: ['b'] }, ['a', 'b'])).toEqual([]);
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
  expect(missingNonceEvidence(attempt, evidence, ['a', 'b'])).toEqual([]);
  expect(missingNonceEvidence(attempt, { ...evidence, use: { ...use, shownBy: ['a'] } }, ['a', 'b'])).toEqual(
    [{ node: null, what: 'the transaction that advanced nonce account account, returned by 2 nodes' }],
  );
  const unadvanced = [nodeAnswer('a', 1, 'n1')];
  expect(
    missingNonceEvidence(attempt, { ...evidence, use: null, finalizedNonces: unadvanced }, ['a', 'b']),
  ).toEqual([
    { node: 'a', what: 'the advance of nonce account account, whose nonce is still valid on the node' },
    { node: 'b', what: 'the finalized nonce of account' },
  ]);
  const passed = { ...evidence, use: null, bypass: { ...use, slot: 9n } };
  expect(missingNonceEvidence(attempt, passed, ['a', 'b'])).toEqual([
    { node: null, what: 'linked finalized blocks from slot 5 to slot 9' },
  ]);
  expect(missingNonceEvidence(attempt, { ...passed, coverage: coverage() }, ['a', 'b'])).toEqual([]);
});
