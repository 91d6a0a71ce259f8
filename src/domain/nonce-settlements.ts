/** The kind of settlements that make a nonce account; their subject is its address. */
export const NONCE_CREATE = 'nonce-create';

/** The kind of settlements that use up one value of a nonce account by a bare advance; see {@link advanceSubject}. */
export const NONCE_ADVANCE = 'nonce-advance';

/** A nonce account and the value to use up: only that one, so that a late request harms no later attempt. */
export interface UsedUp {
  readonly address: string;
  readonly nonce: string;
}

/** `<address>/<nonce>`, both base58. */
export function advanceSubject({ address, nonce }: UsedUp): string {
  return `${address}/${nonce}`;
}

/** What {@link advanceSubject} made. */
export function readAdvanceSubject(subject: string): UsedUp {
  const [address = '', nonce = ''] = subject.split('/');
  return { address, nonce };
}
