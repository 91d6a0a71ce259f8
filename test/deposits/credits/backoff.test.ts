import fc from 'fast-check';
import { expect, it } from 'vitest';
import { Backoff } from '../../../src/deposits/credits/confirm.ts';

const FIRST = 500;
const LONGEST = 60_000;
const NONE = new Set<string>();

/** The times at which the backoff releases an item that always fails, in steps of 100 ms. */
function asksFor(backoff: Backoff<string>, ms: number): readonly number[] {
  const asks = [0];
  backoff.note(['a'], new Set(['a']), 0);
  for (let now = 0; now <= ms; now += 100) {
    if (backoff.due(now, 1).length === 0) continue;
    asks.push(now);
    backoff.note(['a'], new Set(['a']), now);
  }
  return asks;
}

it('the backoff doubles the wait each time, up to the longest wait', () => {
  const asks = asksFor(new Backoff<string>(FIRST, LONGEST), 300_000);
  const waits = asks.slice(1).map((at, index) => at - (asks[index] ?? 0));
  expect(waits).toEqual([500, 1_000, 2_000, 4_000, 8_000, 16_000, 32_000, 60_000, 60_000, 60_000]);
});

it('the backoff returns the items that have waited longest first, up to the requested number', () => {
  const backoff = new Backoff<string>(FIRST, LONGEST);
  for (const [at, key] of ['a', 'b', 'c'].entries()) backoff.note([key], new Set([key]), at);
  backoff.note(['a'], new Set(['a']), 3);
  expect(backoff.due(FIRST + 1_000, 2)).toEqual(['b', 'c']);
  expect(backoff.due(FIRST + 1_000, 9)).toEqual(['b', 'c', 'a']);
});

it('the backoff releases all items once a retry succeeds', () => {
  const backoff = new Backoff<string>(FIRST, LONGEST);
  backoff.note(['a', 'b'], new Set(['a', 'b']), 0);
  backoff.note(['new'], NONE, 1);
  expect(backoff.keys).toEqual(['a', 'b']);
  backoff.note(['a'], NONE, 2);
  expect(backoff.keys).toEqual([]);
});

it('the backoff counts exactly the items whose last request failed', () => {
  const key = fc.constantFrom<string>('a', 'b', 'c');
  const round = fc.record({ asked: fc.uniqueArray(key), failing: fc.uniqueArray(key), ms: fc.nat(90_000) });
  fc.assert(
    fc.property(fc.array(round), (rounds) => {
      const backoff = new Backoff<string>(FIRST, LONGEST);
      let expected = new Set<string>();
      let now = 0;
      for (const { asked, failing, ms } of rounds) {
        now += ms;
        const failed = asked.filter((one) => failing.includes(one));
        const wasAgain = asked.some((one) => expected.has(one));
        const left = [...expected].filter((one) => !asked.includes(one));
        expected = new Set(wasAgain && failed.length === 0 ? [] : [...left, ...failed]);
        backoff.note(asked, new Set(failed), now);
        expect(new Set(backoff.keys)).toEqual(expected);
        expect(new Set(backoff.due(now + LONGEST, 9))).toEqual(expected);
      }
    }),
  );
});
