import fc from 'fast-check';
import { expect, it } from 'vitest';
import { FeeSpend } from '../../src/signing/fee-spend.ts';

const HOUR_MS = 3_600_000;
const LIMIT = 50n;

interface SpendStep {
  readonly key: string;
  readonly message: number;
  readonly fee: bigint;
  readonly waitMs: number;
  readonly isDiscarded: boolean;
}

const steps: fc.Arbitrary<SpendStep[]> = fc.array(
  fc.record({
    key: fc.constantFrom('one', 'two'),
    message: fc.nat({ max: 30 }),
    fee: fc.bigInt({ min: 1n, max: 20n }),
    waitMs: fc.nat({ max: HOUR_MS / 4 }),
    isDiscarded: fc.boolean(),
  }),
  { maxLength: 60 },
);

it('no key signs more fees than its limit within any hour, and a fee that fits is never refused, whatever is discarded', () => {
  fc.assert(
    fc.property(steps, (taken) => {
      let now = 0;
      const spend = new FeeSpend({ lamportsPerHour: LIMIT, onLimit: () => undefined, now: () => now });
      let signed: { key: string; message: number; fee: bigint; at: number }[] = [];
      for (const { key, message, fee, waitMs, isDiscarded } of taken) {
        now += waitMs;
        signed = signed.filter(({ at }) => at > now - HOUR_MS);
        const ofKey = signed.filter((one) => one.key === key);
        const isRepeated = ofKey.some((one) => one.message === message);
        const spent = ofKey.reduce((sum, one) => sum + one.fee, 0n);
        const add = () => spend.add(key, Uint8Array.of(message), fee);
        if (!isRepeated && spent + fee > LIMIT) {
          expect(add).toThrow(`key ${key} would sign ${spent + fee} lamports of fees within one hour`);
        } else {
          add();
          if (isDiscarded) spend.discard(key, Uint8Array.of(message));
          else if (!isRepeated) signed.push({ key, message, fee, at: now });
        }
      }
    }),
  );
});

it('the limit is reported once, until the key signs again', () => {
  let now = 0;
  const limited: string[] = [];
  const onLimit = (text: string) => limited.push(text);
  const spend = new FeeSpend({ lamportsPerHour: 1n, onLimit, now: () => now });
  const add = (message: number) => () => spend.add('key', Uint8Array.of(message), 1n);
  add(1)();
  for (const message of [2, 3]) expect(add(message)).toThrow('at most 1 are allowed');
  expect(limited).toHaveLength(1);
  now = HOUR_MS;
  add(4)();
  expect(add(5)).toThrow('at most 1 are allowed');
  expect(limited).toHaveLength(2);
});
