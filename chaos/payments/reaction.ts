import { contentOf } from './upstream.ts';

/** The reaction of a buyer that follows the protocol. */
export type BuyerReaction =
  /** The item. `paidBy`: the signature of its payment, as the answer names it. */
  | { readonly kind: 'answered'; readonly paidBy: string | null }
  /** The buyer presents the same payment again. */
  | { readonly kind: 'undecided' }
  /** The payment never lands: the buyer may sign another one. */
  | { readonly kind: 'pay-again' }
  /** The payment buys nothing, and the answer gives the reason. */
  | { readonly kind: 'refused'; readonly reason: string }
  /** An answer that no buyer may get. */
  | { readonly kind: 'wrong'; readonly reason: string };

interface RefusedAnswer {
  readonly error?: string;
  readonly details?: string;
  readonly accepts?: unknown;
}

/** Response of the facilitator. Source: x402 specification: SettleResponse. */
interface SettleAnswer {
  readonly success?: boolean;
  readonly errorReason?: string;
  readonly transaction?: string;
}

const TOO_MANY_REQUESTS = 429;

/** Reads an answer of the gateway to a payment as a buyer does. */
export function reactionTo(
  status: number,
  body: string,
  subject: string,
  paidBy: string | null,
): BuyerReaction {
  if (status === 200)
    return body.includes(contentOf(subject))
      ? { kind: 'answered', paidBy }
      : { kind: 'wrong', reason: 'the content is not that of the item' };
  const { error = '', details = '', accepts } = parsed<RefusedAnswer>(body);
  if (details.startsWith('the payment is recorded as'))
    return { kind: 'refused', reason: `${error}: ${details}` };
  if (status === 402) return reactionTo402(error, accepts !== undefined);
  if (status >= 500 || status === TOO_MANY_REQUESTS) return { kind: 'undecided' };
  return { kind: 'wrong', reason: `status ${status}: ${error}` };
}

function reactionTo402(error: string, hasTerms: boolean): BuyerReaction {
  if (error.includes('duplicate_settlement')) return { kind: 'refused', reason: error };
  return hasTerms ? { kind: 'pay-again' } : { kind: 'undecided' };
}

/** Reads an answer of the facilitator as a seller does, who delivers the item after a success. */
export function reactionToSettle(status: number, body: string): BuyerReaction {
  if (status >= 500 || status === TOO_MANY_REQUESTS) return { kind: 'undecided' };
  if (status !== 200) return { kind: 'wrong', reason: `status ${status}: ${body.slice(0, 100)}` };
  const { success, errorReason = '', transaction = null } = parsed<SettleAnswer>(body);
  if (success === true) return { kind: 'answered', paidBy: transaction };
  if (errorReason === 'settlement_pending' || errorReason === 'unexpected_settle_error')
    return { kind: 'undecided' };
  return errorReason === 'duplicate_settlement'
    ? { kind: 'refused', reason: errorReason }
    : { kind: 'pay-again' };
}

function parsed<T extends object>(body: string): Partial<T> {
  try {
    return JSON.parse(body) as T;
  } catch {
    return {};
  }
}
