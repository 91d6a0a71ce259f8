import { contentOf } from './upstream.ts';

/** The reaction of a buyer that follows the protocol. */
export type BuyerReaction =
  /** The item. */
  | { readonly kind: 'answered' }
  /** The buyer shows the same payment again. */
  | { readonly kind: 'undecided' }
  /** The payment never lands: the buyer may sign another one. */
  | { readonly kind: 'pay-again' }
  /** The gateway does not serve this payment, and says why. */
  | { readonly kind: 'refused'; readonly reason: string }
  /** An answer that no buyer may get. */
  | { readonly kind: 'wrong'; readonly reason: string };

interface RefusedAnswer {
  readonly error?: string;
  readonly details?: string;
  readonly accepts?: unknown;
}

/** Reads an answer to a payment as a buyer does. */
export function reactionTo(status: number, body: string, item: number): BuyerReaction {
  if (status === 200)
    return body.includes(contentOf(item))
      ? { kind: 'answered' }
      : { kind: 'wrong', reason: 'the content is not that of the item' };
  const { error = '', details = '', accepts } = refusalOf(body);
  if (details.startsWith('the payment is recorded as'))
    return { kind: 'refused', reason: `${error}: ${details}` };
  if (status === 402) return reactionTo402(error, accepts !== undefined);
  if (status >= 500) return { kind: 'undecided' };
  return { kind: 'wrong', reason: `status ${status}: ${error}` };
}

function reactionTo402(error: string, hasTerms: boolean): BuyerReaction {
  if (error.includes('duplicate_settlement')) return { kind: 'refused', reason: error };
  return hasTerms ? { kind: 'pay-again' } : { kind: 'undecided' };
}

function refusalOf(body: string): RefusedAnswer {
  try {
    return JSON.parse(body) as RefusedAnswer;
  } catch {
    return {};
  }
}
