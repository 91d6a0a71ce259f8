import { base58 } from '@scure/base';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { isAddress } from '../../src/domain/address.ts';

it('an address is the base58 text of any 32 bytes', () => {
  const bytes = fc.oneof(
    fc.uint8Array({ minLength: 0, maxLength: 40 }),
    fc.uint8Array({ minLength: 32, maxLength: 32 }),
    fc
      .tuple(fc.nat(32), fc.uint8Array({ minLength: 0, maxLength: 32 }))
      .map(([zeros, rest]) => Uint8Array.of(...new Uint8Array(zeros), ...rest)),
  );
  fc.assert(fc.property(bytes, (value) => isAddress(base58.encode(value)) === (value.length === 32)));
});

it('no other text is an address', () => {
  const wallet = '9xQeWvG816bUx9EPjHmaT23yvVM2ZWbrrpZb9PusVFin';
  expect(isAddress(wallet)).toBe(true);
  for (const other of [
    '',
    'abc',
    '0OIl'.repeat(10),
    `${wallet} `,
    wallet.slice(4),
    'z'.repeat(44),
    `1${wallet}`,
  ])
    expect(isAddress(other), other).toBe(false);
});
