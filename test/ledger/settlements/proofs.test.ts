import fc from 'fast-check';
import { expect, test } from 'vitest';
import { toJson } from '../../../src/ledger/database.ts';
import { readProof } from '../../../src/ledger/settlements/proofs.ts';
import { anyEvidence, coverage, said } from '../../domain/evidence.ts';

const TIMES = {
  askedAt: new Date('2026-01-01T00:00:00.000Z'),
  judgedAt: new Date('2026-01-01T00:00:02.500Z'),
};
const stored = (proof: object): unknown => JSON.parse(toJson(proof) ?? 'null');

test('evidence is read as it was judged, with its times', () => {
  fc.assert(
    fc.property(anyEvidence, (evidence) => {
      const proof = { ...TIMES, ...evidence };
      expect(readProof(stored(proof))).toEqual({ ...proof, ofMessage: null });
      const restored = { ...proof, ofMessage: proof };
      expect(readProof(stored(restored))).toEqual(restored);
    }),
  );
});

test('evidence on a durable nonce is read, too; without times on record they are null', () => {
  const evidence = {
    quorum: 2,
    statuses: [said('a', 4, { kind: 'absent', atSlot: 12n, historyFrom: null })],
    outcomeConfirmedBy: [],
    chargedBy: [],
    finalizedNonces: [said('a', 1, 'n2')],
    use: { signature: 's', nonceAccount: 'account', nonce: 'n1', slot: 9n, shownBy: ['a', 'b'], sequence: 3 },
  };
  const untold = { askedAt: null, judgedAt: null, ofMessage: null, bypass: null, coverage: null };
  expect(readProof(stored(evidence))).toEqual({ ...untold, ...evidence });
  const bypass = { signature: 't', nonceAccount: 'account', slot: 9n, shownBy: ['a', 'b'], sequence: 3 };
  const passed = { ...TIMES, ...evidence, ofMessage: null, use: null, bypass, coverage: coverage() };
  expect(readProof(stored(passed))).toEqual(passed);
});

test.each([null, {}, { heights: ['1151'] }, 'text'])('what is no evidence is no proof: %j', (value) => {
  expect(readProof(value)).toBeNull();
});
