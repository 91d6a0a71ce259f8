import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { Evidence, NonceEvidence } from '../../../src/domain/attempt.ts';
import { proofsOf } from '../../../src/http/settlements/evidence-schemas.ts';
import { toJson } from '../../../src/ledger/database.ts';
import { attemptEvidence } from '../../../src/solana/proof/attempt-evidence.ts';
import {
  ABSENT,
  ATTEMPT,
  anyEvidence,
  coverage,
  deathProof,
  nodeAnswer,
  seen,
  UNREADABLE,
} from '../../domain/evidence.ts';

const TIMES = {
  askedAt: new Date('2026-01-01T00:00:00.000Z'),
  judgedAt: new Date('2026-01-01T00:00:02.500Z'),
};
const stored = (proof: object) => JSON.parse(toJson(proof) ?? 'null');

function isShownAsStored(evidence: Evidence | NonceEvidence): void {
  const proof = attemptEvidence(ATTEMPT, evidence, TIMES);
  const json = stored(proof);
  expect(proofsOf({ proof: json })).toEqual({ proof: json, messageProof: null });
  const restored = stored({ ...proof, ofMessage: proof });
  expect(proofsOf({ proof: restored })).toEqual({ proof: restored, messageProof: json });
}

test('the API shows evidence with every field as stored', () => {
  fc.assert(fc.property(anyEvidence, isShownAsStored));
  const outcome = {
    quorum: 2,
    statuses: [
      nodeAnswer('a', 4, ABSENT),
      nodeAnswer('b', 5, UNREADABLE),
      nodeAnswer('c', 6, seen('finalized')),
    ],
    outcomeConfirmedBy: [],
    chargedBy: [],
    finalizedNonces: [nodeAnswer('a', 1, 'n2')],
  };
  const end = { signature: 's', nonceAccount: 'account', slot: 9n, shownBy: ['a', 'b'], sequence: 3 };
  isShownAsStored({ ...outcome, use: { ...end, nonce: 'n1' }, bypass: null, coverage: null });
  isShownAsStored({ ...outcome, use: null, bypass: end, coverage: coverage() });
});

test('the API shows evidence of a dead attempt: the order of the requests, the heights, blocks and statuses', () => {
  expect(stored(deathProof())).toMatchObject({
    lastHeight: '1150',
    finalizedHeights: [
      { node: 'a', order: 1, height: '1151' },
      { node: 'b', order: 2, height: '1160' },
    ],
    linkedBlocks: {
      last: { slot: '3000', height: '1151' },
      containsSignature: false,
      agreeingNodes: 2,
      order: 20,
    },
    statuses: [
      { node: 'a', order: 30, seen: 'absent', slot: null, atSlot: '4000', historyFrom: '0' },
      { node: 'b', order: 31, seen: 'absent' },
    ],
  });
});

test.each([null, {}, { heights: ['1151'] }, 'text'])(
  'the API shows no evidence for another value: %j',
  (proof) => {
    expect(proofsOf({ proof })).toEqual({ proof: null, messageProof: null });
  },
);
