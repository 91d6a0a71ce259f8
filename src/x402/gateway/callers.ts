import { createHash } from 'node:crypto';
import type { Caller, PaymentRow } from '../../ledger/x402/payments.ts';

/** Until this long after serving, equal data identifies the caller. An identifier has no limit. */
const PROOF_MS = { authorization: 3_600_000, cookie: 3_600_000, address: 120_000 };
/** Shorter credentials, such as `consent=1` or `Bearer null`, can be equal for many callers. */
const MIN_CREDENTIAL_CHARACTERS = 20;

/** Data about the caller that is not on chain. The identifier is null here: it is read from the payment. */
export function callerOf(
  headers: Readonly<Record<string, string | readonly string[] | undefined>>,
  address: string | null,
): Caller {
  const hashOf = (name: string) => {
    const value = String(headers[name] ?? '');
    if (value.length < MIN_CREDENTIAL_CHARACTERS) return null;
    return createHash('sha256').update(value).digest('hex');
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
  const servedForMs = servedAt === null ? 0 : nowMs - servedAt.getTime();
  const isSame = (name: keyof Caller) => caller[name] !== null && caller[name] === now[name];
  if (isSame('identifier')) return true;
  return (['authorization', 'cookie', 'address'] as const).some(
    (name) => isSame(name) && servedForMs <= PROOF_MS[name],
  );
}
