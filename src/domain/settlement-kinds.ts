import type { X402 } from './payment.ts';
import type { WITHDRAWAL } from './settlement.ts';

/**
 * Every kind of settlement. Each part of a kind is in a table over this type, so that a kind that lacks a part does
 * not compile; `settlement/kind.ts` lists the parts.
 */
export type SettlementKind = typeof WITHDRAWAL | typeof X402 | typeof NONCE_CREATE | typeof NONCE_ADVANCE;

/** Kind of settlements that create a nonce account; their subject is its address. */
export const NONCE_CREATE = 'nonce-create';

/** Kind of settlements that consume one nonce with an advance instruction only; see {@link advanceSubject}. */
export const NONCE_ADVANCE = 'nonce-advance';

/** A nonce account and the nonce to consume. Only that nonce, so that a late request harms no later attempt. */
export interface UsedUp {
  readonly address: string;
  readonly nonce: string;
}

/** `<address>/<nonce>`, both base58. */
export function advanceSubject({ address, nonce }: UsedUp): string {
  return `${address}/${nonce}`;
}

export function readAdvanceSubject(subject: string): UsedUp {
  const [address = '', nonce = ''] = subject.split('/');
  return { address, nonce };
}
