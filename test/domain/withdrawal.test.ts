import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { formatUnits, parseAmount, U64_MAX } from '../../src/domain/amount.ts';
import { isDomainError } from '../../src/domain/errors.ts';
import { checkTerms, fingerprint, termsConflict } from '../../src/domain/withdrawal.ts';

const TERMS = {
  id: 'w-1',
  asset: 'SOL',
  amount: '1000000',
  destination: '9xQeWvG816bUx9EPjHmaT23yvVM2ZWbrrpZb9PusVFin',
};

function faultOf(input: unknown): string {
  try {
    checkTerms(input);
  } catch (error) {
    if (isDomainError(error, 'InvalidRequest')) return String(error.context['field']);
    throw error;
  }
  return 'none';
}

describe('parseAmount', () => {
  it('accepts every u64 but zero, and no other value', () => {
    fc.assert(
      fc.property(fc.bigInt({ min: 1n, max: U64_MAX }), (n) => parseAmount(String(n), 'amount') === n),
    );
    for (const bad of [
      '',
      '0',
      '-1',
      '+1',
      '1.0',
      '1e3',
      '01',
      ' 1',
      '0x10',
      '١',
      String(U64_MAX + 1n),
      '9'.repeat(99),
    ]) {
      expect(() => parseAmount(bad, 'amount'), bad).toThrow(/^amount must be/);
    }
  });
});

describe('formatUnits', () => {
  it('shows base units with the decimals of the asset', () => {
    expect(formatUnits(12_500_000n, 6)).toBe('12.5');
    expect(formatUnits(1n, 9)).toBe('0.000000001');
    expect(formatUnits(0n, 9)).toBe('0');
    expect(formatUnits(70n, 0)).toBe('70');
    expect(formatUnits(-1_500n, 3)).toBe('-1.5');
  });

  it('loses no digit', () => {
    fc.assert(
      fc.property(fc.bigInt({ min: 0n, max: U64_MAX }), fc.integer({ min: 0, max: 30 }), (base, decimals) => {
        const [whole = '', fraction = ''] = formatUnits(base, decimals).split('.');
        expect(BigInt(whole + fraction.padEnd(decimals, '0'))).toBe(base);
      }),
    );
  });
});

describe('checkTerms', () => {
  it('returns the known fields as given', () => {
    expect(checkTerms(TERMS)).toEqual(TERMS);
    const full = { ...TERMS, acceptEmptyWallet: true, memo: 'invoice 7 ✓' };
    expect(checkTerms(full)).toEqual(full);
    expect(checkTerms({ ...TERMS, memo: undefined })).toEqual(TERMS);
  });

  it('names the field at fault', () => {
    expect(faultOf({ ...TERMS, id: 'a b' })).toBe('id');
    expect(faultOf({ ...TERMS, id: 'x'.repeat(129) })).toBe('id');
    expect(faultOf({ ...TERMS, asset: 'sol' })).toBe('asset');
    for (const id of ['.', '..']) expect(faultOf({ ...TERMS, id })).toBe('id');
    expect(faultOf({ ...TERMS, id: '...' })).toBe('none');
    expect(faultOf({ ...TERMS, amount: 5 })).toBe('amount');
    expect(faultOf({ ...TERMS, amount: '0' })).toBe('amount');
    for (const destination of ['', 'abc', '0OIl'.repeat(10), `${TERMS.destination}1`])
      expect(faultOf({ ...TERMS, destination })).toBe('destination');
    expect(faultOf({ ...TERMS, asset: `1${TERMS.destination}` })).toBe('asset');
    expect(faultOf({ ...TERMS, acceptEmptyWallet: 'yes' })).toBe('acceptEmptyWallet');
    expect(faultOf({ ...TERMS, extra: 1 })).toBe('extra');
    for (const input of [null, undefined, [], 'x']) expect(faultOf(input)).toBe('');
  });

  it('names every missing field, every unknown field, and a body that is no object', () => {
    expect(() => checkTerms({ asset: 'SOL', destination: TERMS.destination })).toThrow(
      /^id is missing: 1 to 128 characters of .*; amount is missing: a whole number/,
    );
    expect(() => checkTerms({ ...TERMS, foo: 1 })).toThrow(/^foo is not a field of a withdrawal$/);
    const others: readonly (readonly [unknown, string])[] = [
      [[TERMS], 'an array'],
      ['{}', 'a string'],
      ['', 'nothing'],
    ];
    for (const [input, kind] of others)
      expect(() => checkTerms(input)).toThrow(
        `a withdrawal must be one object with id, asset, amount, destination; this is ${kind}`,
      );
  });

  it('bounds the memo in bytes of UTF-8', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary', maxLength: 120 }), (memo) => {
        const bytes = new TextEncoder().encode(memo).length;
        const good = bytes >= 1 && bytes <= 200 && !memo.includes('\0');
        expect(faultOf({ ...TERMS, memo })).toBe(good ? 'none' : 'memo');
      }),
    );
    expect(faultOf({ ...TERMS, memo: '\ud800' })).toBe('memo');
  });

  it('throws only InvalidRequest, for any input', () => {
    fc.assert(fc.property(fc.anything(), (input) => faultOf(input) !== 'none'));
  });
});

describe('fingerprint', () => {
  it('is equal only for equal terms, in any spelling', () => {
    const { destination, amount, asset, id } = TERMS;
    expect(fingerprint({ destination, amount, asset, id })).toBe(
      fingerprint({ ...TERMS, acceptEmptyWallet: false }),
    );
    const others = [
      { ...TERMS, asset: destination },
      { ...TERMS, amount: '1' },
      { ...TERMS, destination: 'x' },
      { ...TERMS, acceptEmptyWallet: true },
      { ...TERMS, memo: 'm' },
      { ...TERMS, memo: 'null' },
    ];
    expect(new Set([TERMS, ...others].map(fingerprint)).size).toBe(others.length + 1);
  });
});

describe('termsConflict', () => {
  it('names each term that differs, stored and sent, and no other', () => {
    const { message, context } = termsConflict(TERMS, {
      ...TERMS,
      amount: '7',
      memo: 'm',
      acceptEmptyWallet: false,
    });
    expect(message).toBe(
      'the id w-1 is taken: amount is recorded as "1000000", the request has "7"; memo is recorded as null, the request has "m"',
    );
    expect(context).toEqual({ id: 'w-1', fields: ['amount', 'memo'] });
  });
});
