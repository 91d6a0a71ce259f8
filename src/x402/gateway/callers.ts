import { createHash } from 'node:crypto';
import type { Caller, PaymentRow } from '../../ledger/x402/payments.ts';

/** For this long after serving, an equal address alone identifies the caller. */
const SAME_ADDRESS_MS = 120_000;

/** Caller data that is not on chain, without the identifier: the payment has that. */
export function callerOf(
  headers: Readonly<Record<string, string | readonly string[] | undefined>>,
  address: string | null,
): Caller {
  const hashed = (name: string) => {
    const value = headers[name];
    if (value === undefined || value.length === 0) return null;
    return createHash('sha256').update(String(value)).digest('hex');
  };
  return { identifier: null, authorization: hashed('authorization'), cookie: hashed('cookie'), address };
}

/** True if the caller may receive the response again. After landing, a payment's bytes are public and prove nothing. */
export function isSameCaller({ caller, servedAt }: PaymentRow, now: Caller, time: number): boolean {
  const same = (name: 'identifier' | 'authorization' | 'cookie' | 'address') =>
    caller[name] !== null && caller[name] === now[name];
  if (same('identifier') || same('authorization') || same('cookie')) return true;
  return same('address') && (servedAt === null || time - servedAt.getTime() <= SAME_ADDRESS_MS);
}
