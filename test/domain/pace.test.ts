import fc from 'fast-check';
import { expect, it } from 'vitest';
import { MOST_UNSENT, mayBegin, unsentAllowed } from '../../src/domain/pace.ts';

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

it('waits for a signer that signs nothing, but for a few that find out when it does', () => {
  const none = { ended: 0, dead: 0 };
  expect(mayBegin({ living: MOST_UNSENT - 1, overdue: 0 }, none)).toBe(true);
  expect(mayBegin({ living: 2, overdue: MOST_UNSENT }, none)).toBe(false);
  expect(mayBegin({ living: 1, overdue: 1_000 }, none)).toBe(true);
  expect(mayBegin({ living: 2, overdue: 0 }, { ended: 9, dead: 9 })).toBe(false);
});
