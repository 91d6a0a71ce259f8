import { createHash } from 'node:crypto';
import type { Caller, PaymentRow } from '../../ledger/x402/payments.ts';

/** Within this time after serving, an equal client address alone identifies the caller. */
const SAME_ADDRESS_MS = 120_000;

/** Data about the caller that is not on chain. The identifier is null here: it is read from the payment. */
export function callerOf(
  headers: Readonly<Record<string, string | readonly string[] | undefined>>,
  address: string | null,
): Caller {
  const hashOf = (name: string) => {
    const value = headers[name];
    if (value === undefined || value.length === 0) return null;
    return createHash('sha256').update(String(value)).digest('hex');
  };
  return { identifier: null, authorization: hashOf('authorization'), cookie: hashOf('cookie'), address };
}

/**
 * True if the caller may receive the response again. A landed payment is public, so its bytes do not identify the
 * buyer.
 */
export function isSameCaller(
  { caller, servedAt }: Pick<PaymentRow, 'caller' | 'servedAt'>,
  now: Caller,
  nowMs: number,
): boolean {
  const isSame = (name: 'identifier' | 'authorization' | 'cookie' | 'address') =>
    caller[name] !== null && caller[name] === now[name];
  if (isSame('identifier') || isSame('authorization') || isSame('cookie')) return true;
  return isSame('address') && (servedAt === null || nowMs - servedAt.getTime() <= SAME_ADDRESS_MS);
}
