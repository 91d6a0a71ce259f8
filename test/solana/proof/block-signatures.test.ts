import { base58 } from '@scure/base';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { BlockSignatures } from '../../../src/solana/proof/block-signatures.ts';

const signature = fc.uint8Array({ minLength: 64, maxLength: 64 }).map((bytes) => base58.encode(bytes));

it('a block contains exactly the signatures it was made of, in any order', () => {
  fc.assert(
    fc.property(fc.uniqueArray(signature, { maxLength: 40 }), signature, (texts, other) => {
      const block = new BlockSignatures(new Set(texts));
      expect(block.size).toBe(texts.length);
      for (const text of texts) expect(block.has(text)).toBe(true);
      expect(block.has(other)).toBe(texts.some((text) => text.slice(-9) === other.slice(-9)));
    }),
  );
});

it('an empty block contains no signature', () => {
  expect(new BlockSignatures(new Set()).has('1'.repeat(88))).toBe(false);
});
