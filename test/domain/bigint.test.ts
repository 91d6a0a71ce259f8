import fc from 'fast-check';
import { expect, test } from 'vitest';
import { ascending, highest, lowest } from '../../src/domain/bigint.ts';

test('the least and the greatest of bigints are those at the ends of their order', () => {
  fc.assert(
    fc.property(fc.bigInt(), fc.array(fc.bigInt()), (first, others) => {
      const ordered = [first, ...others].toSorted((one, other) => (one < other ? -1 : Number(one > other)));
      expect([first, ...others].toSorted(ascending)).toEqual(ordered);
      expect(lowest([first, ...others])).toBe(ordered[0]);
      expect(highest([first, ...others])).toBe(ordered.at(-1));
    }),
  );
});
