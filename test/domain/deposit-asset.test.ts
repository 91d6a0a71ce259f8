import fc from 'fast-check';
import { expect, test } from 'vitest';
import {
  changeTerms,
  defaultSolTerms,
  takesDeposits,
  withDefaultTerms,
} from '../../src/domain/deposit-asset.ts';
import { isDomainError } from '../../src/domain/errors.ts';

const units = fc.bigInt({ min: 0n, max: 2n ** 64n - 1n });
const anyTerms = fc.record({
  asset: fc.constantFrom('SOL', 'mint'),
  program: fc.constant(null),
  decimals: fc.nat(9),
  minimumDeposit: units,
  depositsOn: fc.boolean(),
});
const anyChange = fc.record({ minimumDeposit: units, depositsOn: fc.boolean() }, { requiredKeys: [] });
const anyLimits = fc.record({
  leastDeposit: units,
  immovable: fc.constantFrom(null, 'it cannot be transferred'),
});

test('terms that the chain cannot keep are refused for every actor, and all other terms are kept as requested', () => {
  fc.assert(
    fc.property(anyTerms, anyChange, anyLimits, (terms, change, limits) => {
      const asked = { ...terms, ...change };
      const field =
        asked.minimumDeposit < limits.leastDeposit
          ? 'minimumDeposit'
          : asked.depositsOn && limits.immovable !== null
            ? 'depositsOn'
            : null;
      try {
        expect(changeTerms(terms, change, limits)).toEqual(asked);
        expect(field).toBeNull();
      } catch (error) {
        if (!isDomainError(error, 'AssetRejected')) throw error;
        expect(error.context).toMatchObject({ field });
      }
    }),
  );
});

test('an unchanged asset keeps its terms', () => {
  const sol = defaultSolTerms(890_880n);
  expect(changeTerms(sol, {}, { leastDeposit: 890_880n, immovable: null })).toEqual(sol);
  const token = withDefaultTerms({ asset: 'mint', program: 'program', decimals: 6 });
  expect(changeTerms(token, {}, { leastDeposit: 1n, immovable: null })).toEqual(token);
});

test('SOL is accepted before an operator configures an asset, and no mint is', () => {
  expect(takesDeposits('SOL', undefined)).toBe(defaultSolTerms(1n).depositsOn);
  expect(takesDeposits('mint', undefined)).toBe(false);
  for (const depositsOn of [true, false])
    for (const asset of ['SOL', 'mint']) expect(takesDeposits(asset, { depositsOn })).toBe(depositsOn);
});
