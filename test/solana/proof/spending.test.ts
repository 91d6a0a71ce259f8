import fc from 'fast-check';
import { expect, test } from 'vitest';
import { rentPaid } from '../../../src/solana/proof/spending.ts';

const lamports = fc.bigInt({ min: 0n, max: 2n ** 62n });

test('the rent is the loss of the fee payer minus fee and amount', () => {
  fc.assert(
    fc.property(lamports, lamports, lamports, (feeLamports, amount, rent) => {
      const spentLamports = feeLamports + amount + rent;
      expect(rentPaid({ feeLamports, spentLamports, tokenChanges: null }, amount, rent)).toBe(rent);
      expect(rentPaid({ feeLamports, spentLamports, tokenChanges: null }, amount, rent + 1n)).toBe(rent);
    }),
  );
});

test('the rent is never below zero or above the planned rent, whatever a node returns', () => {
  fc.assert(
    fc.property(lamports, lamports, lamports, lamports, (feeLamports, spentLamports, amount, planned) => {
      const rent = rentPaid({ feeLamports, spentLamports, tokenChanges: null }, amount, planned);
      if (rent !== null) expect(rent >= 0n && rent <= planned).toBe(true);
      const left = spentLamports - feeLamports - amount;
      expect(rent === null).toBe(left < 0n || left > planned);
    }),
  );
});

test('the rent is unknown when a node omits the balances', () => {
  expect(rentPaid({ feeLamports: null, spentLamports: 5n, tokenChanges: null }, 0n, 5n)).toBeNull();
  expect(rentPaid({ feeLamports: 5n, spentLamports: null, tokenChanges: null }, 0n, 5n)).toBeNull();
});
