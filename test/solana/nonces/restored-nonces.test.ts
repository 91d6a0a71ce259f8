import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  agreedNonce,
  isNonceUsedUp,
  mayBeUsedByLostAttempt,
  type ReportedNonce,
} from '../../../src/solana/nonces/survey.ts';

const END = 1_000n;
const value = fc.constantFrom('a', 'b', 'c', null);
const anyShownNonce: fc.Arbitrary<ReportedNonce> = fc.record({
  nonce: value,
  slot: fc.bigInt({ min: 0n, max: 9_000n }),
  height: fc.bigInt({ min: 900n, max: 1_100n }),
});

/** Honest nodes, at least a quorum of them, each with its value from `truth`, and a minority with any value. */
function withLiars(truth: fc.Arbitrary<ReportedNonce>) {
  return fc.integer({ min: 1, max: 4 }).chain((liars) =>
    fc.record({
      quorum: fc.constant(liars + 1),
      honest: fc.array(truth, { minLength: 1, maxLength: liars + 1 }),
      lies: fc.array(anyShownNonce, { maxLength: liars }),
    }),
  );
}

describe('the value of a nonce account at the end of a gap', () => {
  // An honest node behind the end may show what the account held before; one past it shows the value that a lost attempt carries, while it is unused.
  const anyHonestNonce = anyShownNonce.map((one) => (one.height > END ? { ...one, nonce: 'lost' } : one));

  it('is never set by liars, nor by banks from before the end', () => {
    fc.assert(
      fc.property(withLiars(anyHonestNonce), ({ quorum, honest, lies }) => {
        const agreed = agreedNonce(END, [...lies, ...honest], quorum);
        if (agreed !== null) expect(agreed.nonce).toBe('lost');
        expect(isNonceUsedUp('lost', END, [...lies, ...honest], quorum)).toBe(false);
      }),
    );
  });

  it('is known to be gone when enough nodes are past the end', () => {
    fc.assert(
      fc.property(fc.array(anyShownNonce, { minLength: 2, maxLength: 5 }), (shown) => {
        const fresh = shown.map((one) => ({ ...one, nonce: 'now', height: END + 1n }));
        const slots = fresh.map(({ slot }) => slot).toSorted((a, b) => (a < b ? -1 : 1));
        expect(agreedNonce(END, fresh, fresh.length)).toEqual({ nonce: 'now', slot: slots[0] });
        expect(isNonceUsedUp('lost', END, fresh, fresh.length)).toBe(true);
        expect(isNonceUsedUp('now', END, fresh, fresh.length)).toBe(false);
        const atTheEnd = fresh.map((one) => ({ ...one, height: END }));
        expect(agreedNonce(END, atTheEnd, 1)).toBeNull();
        expect(isNonceUsedUp('lost', END, atTheEnd, 1)).toBe(false);
      }),
    );
  });

  it('may be used by a lost attempt, unless the account is missing or a recorded living attempt carries it', () => {
    expect(mayBeUsedByLostAttempt({ nonce: 'a', slot: 1n }, null)).toBe(true);
    expect(mayBeUsedByLostAttempt({ nonce: 'a', slot: 1n }, 'b')).toBe(true);
    expect(mayBeUsedByLostAttempt({ nonce: 'a', slot: 1n }, 'a')).toBe(false);
    expect(mayBeUsedByLostAttempt({ nonce: null, slot: 1n }, null)).toBe(false);
  });
});
