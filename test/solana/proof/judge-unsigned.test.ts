import fc from 'fast-check';
import { expect, test } from 'vitest';
import { observationOfMessage, type WalletEntry } from '../../../src/solana/proof/investigate-unsigned.ts';
import { judgeUnsigned } from '../../../src/solana/proof/judge.ts';
import {
  ABSENT,
  ATTEMPT,
  anyEvidence,
  coverage,
  deathEvidence,
  nodeAnswer,
  UNREADABLE,
} from '../../domain/evidence.ts';

const { signature: _signature, ...life } = ATTEMPT;
const WHOLE_SYSTEM = { historyFrom: 0n, atSlot: 4_000n };
const UNSIGNED = { ...life, messageHash: 'ours' };

const anyEntries: fc.Arbitrary<WalletEntry[]> = fc.array(
  fc.record({
    signature: fc.string({ minLength: 1, maxLength: 4 }),
    slot: fc.bigInt({ min: 2500n, max: 3000n }),
    messageHash: fc.constantFrom('ours', 'other', 'another', null),
  }),
  { maxLength: 6 },
);

test('a history lacks the message only when every transaction of the wallet is read and is another one', () => {
  fc.assert(
    fc.property(anyEntries, (entries) => {
      const hashes = entries.map(({ messageHash }) => messageHash);
      const expected = hashes.includes('ours') ? 'seen' : hashes.includes(null) ? 'unreadable' : 'absent';
      expect(observationOfMessage('ours', { entries, ...WHOLE_SYSTEM }).kind).toBe(expected);
    }),
  );
});

test('an attempt without a signature is dead only by the complete proof', () => {
  expect(judgeUnsigned(UNSIGNED, deathEvidence())).toEqual({ kind: 'dead' });
  const spoilt = [
    { coverage: null },
    { coverage: coverage({ containsSignature: true }) },
    { coverage: coverage({ last: { height: 1150n } }) },
    { origin: null },
    { finalizedHeights: [nodeAnswer('a', 1, 1151n), nodeAnswer('b', 2, 1150n)] },
    { statuses: [nodeAnswer('a', 30, ABSENT), nodeAnswer('b', 31, UNREADABLE)] },
    { statuses: [nodeAnswer('a', 10, ABSENT), nodeAnswer('b', 11, ABSENT)] },
  ];
  for (const changes of spoilt) expect(judgeUnsigned(UNSIGNED, deathEvidence(changes)).kind).not.toBe('dead');
});

test('an attempt without a signature is not dead if a node lists its message or a block holds it, and no evidence proves it landed', () => {
  fc.assert(
    fc.property(anyEvidence, fc.bigInt({ min: 2501n, max: 3000n }), (evidence, slot) => {
      const found = observationOfMessage('ours', {
        entries: [{ signature: 's', slot, messageHash: 'ours' }],
        ...WHOLE_SYSTEM,
      });
      const listed = { ...evidence, statuses: [...evidence.statuses, nodeAnswer('c', 40, found)] };
      expect(judgeUnsigned(UNSIGNED, listed).kind).not.toBe('dead');
      const held = coverage({ containsSignature: true });
      const inBlocks = { ...evidence, displacement: null, coverage: held };
      expect(judgeUnsigned(UNSIGNED, inBlocks).kind).not.toBe('dead');
      expect(['landed', 'failed']).not.toContain(judgeUnsigned(UNSIGNED, evidence).kind);
    }),
  );
});
