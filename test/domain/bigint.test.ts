import fc from 'fast-check';
import { expect, test } from 'vitest';
import { ascending, highest, lowest } from '../../src/domain/bigint.ts';

test('the minimum and the maximum of bigints are the ends of their sorted order', () => {
  fc.assert(
    fc.property(fc.bigInt(), fc.array(fc.bigInt()), (first, others) => {
      const ordered = [first, ...others].toSorted((one, other) => (one < other ? -1 : Number(one > other)));
      expect([first, ...others].toSorted(ascending)).toEqual(ordered);
      expect(lowest([first, ...others])).toBe(ordered[0]);
      expect(highest([first, ...others])).toBe(ordered.at(-1));
    }),
  );
});
