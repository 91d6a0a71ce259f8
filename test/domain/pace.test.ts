import fc from 'fast-check';
import { expect, it } from 'vitest';
import { MOST_UNSENT, unsentAllowed } from '../../src/domain/pace.ts';

it('begins as many as ever while nothing dies, and never none', () => {
  expect(unsentAllowed({ ended: 0, dead: 0 })).toBe(MOST_UNSENT);
  expect(unsentAllowed({ ended: 1, dead: 1 })).toBe(2);
  fc.assert(
    fc.property(fc.nat(100), fc.nat(100), (landed, dead) => {
      const allowed = unsentAllowed({ ended: landed + dead, dead });
      expect(allowed).toBeGreaterThanOrEqual(2);
      expect(allowed).toBeLessThanOrEqual(MOST_UNSENT);
      expect(unsentAllowed({ ended: landed + dead + 1, dead: dead + 1 })).toBeLessThanOrEqual(allowed);
      expect(unsentAllowed({ ended: landed + dead + 1, dead })).toBeGreaterThanOrEqual(allowed);
    }),
  );
});
