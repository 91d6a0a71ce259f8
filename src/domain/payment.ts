import { settlementId } from './settlement.ts';

/** The kind of settlement that a payment of x402 is. */
export const X402 = 'x402';

/**
 * What a payment has bought so far.
 *
 * | state | the money | the resource |
 * |---|---|---|
 * | settling | is not seen at `confirmed` | not served |
 * | owed | moved | not served: the gateway or the workflow must serve it |
 * | served | moved | served once; a stored answer may be given again to the same caller |
 * | refundable | moved | the upstream refused, or may not be asked again |
 * | unmatched | may have moved | nothing: it was on the chain before any request was bound to it, or too little arrived |
 * | void | did not move, and never will | not served |
 */
export const PAYMENT_STATES = ['settling', 'owed', 'served', 'refundable', 'unmatched', 'void'] as const;

export type PaymentState = (typeof PAYMENT_STATES)[number];

/** What happens to a payment: on the chain, and at the upstream. */
export type PaymentEvent =
  /** A node shows it confirmed, or it is final. */
  | { readonly kind: 'paid' }
  /** A fork has taken `confirmed` back; its bytes are sent again. */
  | { readonly kind: 'taken-back' }
  /** It has failed on chain, is proved dead, or was never to be settled. */
  | { readonly kind: 'unpaid' }
  /** The upstream answered 2xx or 3xx, and that is stored. */
  | { readonly kind: 'served' }
  /** The upstream answered 4xx, or may not be asked again. */
  | { readonly kind: 'refused' }
  /** It is final, and less arrived than was asked for. */
  | { readonly kind: 'short' };

/** The state after an event; the same one where the event changes nothing. Served is for ever: what was given is given. */
export function paymentAfter(state: PaymentState, event: PaymentEvent): PaymentState {
  switch (event.kind) {
    case 'paid':
      return state === 'settling' ? 'owed' : state;
    case 'taken-back':
      return state === 'owed' ? 'settling' : state;
    case 'unpaid':
      return state === 'served' ? state : 'void';
    // A fork may have taken the payment back while the upstream answered: what was given is given all the same.
    case 'served':
      return isOpen(state) ? 'served' : state;
    case 'refused':
      return isOpen(state) ? 'refundable' : state;
    case 'short':
      return isOpen(state) ? 'unmatched' : state;
  }
}

/** The states that an event changes, and the one state that each of them becomes. */
export function paymentMove(event: PaymentEvent): {
  readonly from: readonly PaymentState[];
  readonly to: PaymentState;
} {
  const from = PAYMENT_STATES.filter((state) => paymentAfter(state, event) !== state);
  const [first = 'void'] = from;
  return { from, to: paymentAfter(first, event) };
}

/** Undecided, or paid and not served: the buyer must not pay for the same request again. */
function isOpen(state: PaymentState): boolean {
  return state === 'settling' || state === 'owed';
}

/** `x402/<network>/<hash>`: the id of its settlement, and of its workflow. */
export function paymentId(network: string, messageHash: string): string {
  return settlementId(X402, `${network}/${messageHash}`);
}
