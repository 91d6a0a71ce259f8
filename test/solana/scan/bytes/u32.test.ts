import fc from 'fast-check';
import { expect, test } from 'vitest';
import { ADDRESS_TEXT } from '../../../../src/domain/address.ts';
import { addressEnd } from '../../../../src/solana/scan/bytes/base58-text.ts';
import { quoteAfter, scalarEndAfter } from '../../../../src/solana/scan/bytes/u32.ts';

const BASE58 = '123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz';
const BEHIND = 48;
const plain = fc.string({ unit: fc.constantFrom(...BASE58.split('')), maxLength: 50 });
const any = fc.string({
  unit: fc.constantFrom(...BASE58.split(''), ' ', '!', '#', '2', '*', 'b', 'ü', '\u{1f680}', '"'),
  maxLength: 50,
});
const text = fc.oneof(
  plain,
  any,
  fc.tuple(plain, any).map((parts) => parts.join('"')),
);

test('the search returns the first quote after a position, and whether an address precedes it', () => {
  fc.assert(
    fc.property(text, fc.nat(3), (inner, at) => {
      const bytes = Buffer.from(`${' '.repeat(at)}${inner}"${'x'.repeat(BEHIND)}`);
      const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
      expect(quoteAfter(view, at)).toBe(bytes.indexOf('"', at));
      const isAddress = ADDRESS_TEXT.test(inner.split('"')[0] ?? '');
      expect(addressEnd(view, at)).toBe(isAddress ? bytes.indexOf('"', at) : -1);
    }),
    { numRuns: 2000 },
  );
});

test('a scalar ends before the next comma or closing bracket', () => {
  const scalar = fc.constantFrom('0', '-1.5e-7', 'true', 'false', 'null', '18446744073709551615');
  fc.assert(
    fc.property(scalar, fc.constantFrom(',', ']', '}'), fc.nat(3), (value, after, at) => {
      const bytes = Buffer.from(`${'x'.repeat(at)}${value}${after}"a":[1,{}]`);
      const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
      expect(scalarEndAfter(view, at)).toBe(at + value.length);
    }),
  );
});
