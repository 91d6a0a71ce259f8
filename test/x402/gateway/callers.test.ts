import { describe, expect, it } from 'vitest';
import { callerOf, isSameCaller } from '../../../src/x402/gateway/callers.ts';

const MINUTE = 60_000;
const SERVED_AT = new Date(1_000_000_000_000);
const TOKEN = { authorization: 'Bearer 0123456789abcdef' };
const SESSION = { cookie: 'session=0123456789abcdef' };

/** Whether headers that both requests have prove the same caller this long after service; null: not served yet. */
function areProof(headers: Record<string, string>, afterMs: number | null): boolean {
  const servedAt = afterMs === null ? null : SERVED_AT;
  const nowMs = SERVED_AT.getTime() + (afterMs ?? 0);
  return isSameCaller({ caller: callerOf(headers, null), servedAt }, callerOf(headers, null), nowMs);
}

describe('equal credentials', () => {
  it.each([TOKEN, SESSION])('prove the caller until an hour after service: %j', (headers) => {
    expect([null, 0, 60 * MINUTE, 61 * MINUTE].map((after) => areProof(headers, after))).toEqual([
      true,
      true,
      true,
      false,
    ]);
  });

  it.each([
    { authorization: 'Bearer null' },
    { authorization: 'Bearer 012345678901' },
    { cookie: 'consent=1' },
    { cookie: 'theme=dark; lang=en' },
  ])('of fewer than 20 characters prove nothing: %j', (headers) => {
    expect([null, 0].map((after) => areProof(headers, after))).toEqual([false, false]);
  });

  it('of another caller prove nothing', () => {
    const [one, other] = [TOKEN, { authorization: 'Bearer fedcba9876543210' }];
    const payment = { caller: callerOf(one, null), servedAt: null };
    expect(isSameCaller(payment, callerOf(other, null), SERVED_AT.getTime())).toBe(false);
  });
});

describe('a payment identifier', () => {
  it('proves the caller without a time limit', () => {
    const caller = { ...callerOf({}, null), identifier: 'pay_0123456789abcdef' };
    expect(isSameCaller({ caller, servedAt: new Date(0) }, caller, SERVED_AT.getTime())).toBe(true);
  });
});
