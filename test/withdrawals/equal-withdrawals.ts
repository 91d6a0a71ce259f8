import { expect } from 'vitest';
import { type LamportsBySignature, readBooks } from '../../devkit/localstack/books.ts';
import { newAddress } from '../../devkit/localstack/keypair.ts';
import type { WithdrawalTerms } from '../../src/domain/withdrawal.ts';
import { type TestStack } from '../support/stack.ts';
import { ChainControls } from './outcomes-support.ts';

/** Requests all withdrawals at once; true where every withdrawal is finalized. */
export async function payAll(
  { sluice }: Pick<TestStack, 'sluice'>,
  terms: readonly WithdrawalTerms[],
): Promise<boolean> {
  await Promise.all(terms.map((one) => sluice.withdraw(one)));
  const results = await Promise.all(terms.map(({ id }) => sluice.waitForFinal(id, { pollMs: 2_000 })));
  return results.every(({ status }) => status === 'finalized');
}

const sum = (spent: LamportsBySignature): bigint =>
  Object.values(spent).reduce((total, lamports) => total + lamports, 0n);

/** Pays `count` equal withdrawals of SOL, and 5 of a token, at once, and finds each in the blocks once, to the lamport. */
export async function expectEqualOnesPaid(
  running: Pick<TestStack, 'stack' | 'sluice'>,
  count: number,
): Promise<void> {
  const { hotWallet } = running.stack;
  const hand = new ChainControls(running.stack);
  const before = await hand.lamports(hotWallet);
  const equal = { asset: 'SOL', amount: '1000000', destination: newAddress(), acceptEmptyWallet: true };
  const tokens = { asset: hand.mint('mint'), amount: '5', acceptEmptyWallet: true };
  const all = [
    ...Array.from({ length: count }, (_, index) => ({ id: `equal-${index}`, ...equal })),
    // The rents must add up as well: each of these withdrawals creates a token account.
    ...Array.from({ length: 5 }, (_, index) => ({
      id: `token-${index}`,
      ...tokens,
      destination: newAddress(),
    })),
  ];
  expect(await payAll(running, all)).toBe(true);

  const payments = await hand.paymentsTo(equal.destination);
  expect(payments.map(({ received }) => received)).toEqual(Array(count).fill(1_000_000n));
  expect(new Set(payments.map(({ signature }) => signature)).size).toBe(count);
  const { chain, record, live, openReservations } = await readBooks(running.stack);
  expect(Object.keys(chain)).toHaveLength(count + 5);
  expect(record).toEqual(chain);
  expect(BigInt(before - (await hand.lamports(hotWallet)))).toBe(sum(record));
  expect({ live, openReservations }).toEqual({ live: 0, openReservations: 0n });
}
