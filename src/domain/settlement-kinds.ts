import type { X402 } from './payment.ts';
import type { WITHDRAWAL } from './settlement.ts';

/**
 * Every kind of settlement. The parts of a kind are listed in `settlement/kind.ts`. Each part is an entry in a record
 * over this type, so that a kind without one does not compile.
 */
export type SettlementKind = typeof WITHDRAWAL | typeof X402 | typeof NONCE_CREATE | typeof NONCE_ADVANCE;

/** Kind of settlements that create a nonce account; their subject is its address. */
export const NONCE_CREATE = 'nonce-create';

/** Kind of settlements that consume one nonce with an advance instruction only; see {@link advanceSubject}. */
export const NONCE_ADVANCE = 'nonce-advance';

/**
 * A nonce account and the one nonce to consume, so that a late request cannot invalidate the attempt of a later nonce.
 */
export interface ConsumedNonce {
  readonly address: string;
  readonly nonce: string;
}

/** Subject of a `nonce-advance` settlement: `<address>/<nonce>`, both base58. */
export function advanceSubject({ address, nonce }: ConsumedNonce): string {
  return `${address}/${nonce}`;
}

export function readAdvanceSubject(subject: string): ConsumedNonce {
  const [address = '', nonce = ''] = subject.split('/');
  return { address, nonce };
}
