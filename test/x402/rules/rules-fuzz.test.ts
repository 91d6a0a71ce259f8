import { ed25519 } from '@noble/curves/ed25519.js';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { checkExact } from '../../../src/x402/rules/exact.ts';
import { checkExample, checkSubmitted } from '../../../src/x402/rules/example.ts';
import type { Checked } from '../../../src/x402/terms.ts';
import * as buyer from './buyer.ts';

const exact = buyer.wireOf();
const example = buyer.wireOf({ payer: buyer.BUYER, instructions: [buyer.plainTransfer()] });
const submitted = buyer.wireOf({
  payer: buyer.BUYER,
  instructions: [buyer.plainTransfer(), buyer.memo('m')],
});
const checks: readonly (readonly [string, Uint8Array, (wire: Uint8Array) => Checked])[] = [
  ['exact', exact, (wire) => checkExact(wire, buyer.TERMS, buyer.BOUNDS)],
  ['example', example, (wire) => checkExample(wire, buyer.TERMS, buyer.BOUNDS)],
  ['submitted', submitted, (wire) => checkSubmitted(wire, buyer.TERMS, 'm')],
];

/** Some bytes of `wire` replaced. */
const changed = (wire: Uint8Array) =>
  fc
    .array(fc.tuple(fc.nat(wire.length - 1), fc.nat(255)), { minLength: 1, maxLength: 3 })
    .map((edits) => edits.reduce((bytes, [at, value]) => bytes.fill(value, at, at + 1), wire.slice()));

/** The same message with a new signature of the buyer, who signs last: only the message itself can then be refused. */
function signedAnew(wire: Uint8Array): Uint8Array {
  const at = 1 + 64 * (wire[0] ?? 0);
  const signature = ed25519.sign(wire.subarray(at), buyer.buyerKey.secretKey.subarray(0, 32));
  const signed = wire.slice();
  signed.set(signature, at - 64);
  return signed;
}

describe.each(checks)('the rules of %s', (name, good, check) => {
  it('never throw, whatever the bytes are', () => {
    const bytes = fc.oneof(fc.uint8Array({ maxLength: 1_300 }), changed(good));
    fc.assert(
      fc.property(bytes, (wire) => typeof check(wire).ok === 'boolean'),
      { numRuns: 1_000 },
    );
  });

  it('accept no wire transaction that differs in one byte from a valid one', () => {
    expect(check(good).ok).toBe(true);
    const accepted = Array.from(good.keys()).filter((at) => {
      const wire = good.slice();
      wire[at] = (wire[at] ?? 0) ^ 1;
      return check(wire).ok;
    });
    expect(accepted).toEqual([]);
  });

  it('accept no other amount, destination or payer, though the buyer signs it', () => {
    let accepted = 0;
    const messageAt = 1 + 64 * (good[0] ?? 0);
    for (let at = messageAt; at < good.length; at += 1) {
      const wire = good.slice();
      wire[at] = (wire[at] ?? 0) ^ (1 << (at & 7));
      const checked = check(signedAnew(wire));
      if (!checked.ok) continue;
      accepted += 1;
      const { amount, destination, payer, asset } = checked.payment;
      expect(amount).toBeGreaterThanOrEqual(buyer.PRICE);
      expect({ destination, asset }).toEqual({ destination: buyer.DESTINATION, asset: buyer.MINT });
      if (name === 'exact') expect({ amount, payer }).toEqual({ amount: buyer.PRICE, payer: buyer.BUYER });
    }
    expect(accepted).toBeGreaterThan(0);
  });

  it('accept no part of a valid wire transaction', () => {
    const parts = Array.from(good.keys(), (length) => good.subarray(0, length));
    expect(parts.filter((part) => check(part).ok)).toEqual([]);
  });
});
