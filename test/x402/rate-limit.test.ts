import { expect, it } from 'vitest';
import { addressLimiter } from '../../src/x402/rate-limit.ts';

const BURST = 2;

function limiter() {
  const takeToken = addressLimiter({ perSecond: 0.001, burst: BURST });
  return (address: string | null, times = BURST + 1) =>
    Array.from({ length: times }, () => takeToken(address)).at(-1);
}

it('each public client address has its own limit, and each IPv6 network of 64 bits', () => {
  const last = limiter();
  expect(last('8.8.4.4', BURST)).toBe(0);
  expect(last('8.8.4.4', 1)).toBeGreaterThan(0);
  expect(last('8.8.8.8', 1)).toBe(0);
  expect(last('2606:4700::1', BURST)).toBe(0);
  expect(last('2606:4700::2', 1)).toBeGreaterThan(0);
  expect(last('2606:4700:0:1::2', 1)).toBe(0);
});

it('an address that many clients can share has no limit', () => {
  const last = limiter();
  for (const shared of [null, '127.0.0.1', '10.0.0.1', '100.64.0.1', 'fd00::1', '::1', 'unknown'])
    expect(last(shared)).toBe(0);
});
