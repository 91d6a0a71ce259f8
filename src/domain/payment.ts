import { settlementId } from './settlement.ts';

export const X402 = 'x402';

/**
 * State of an x402 payment.
 *
 * | state | the money | the resource |
 * |---|---|---|
 * | settling | not seen at `confirmed` | not served |
 * | owed | moved | not served: the gateway or the workflow must serve it |
 * | served | moved | served once; the stored response may be sent again to the same caller |
 * | refundable | moved | the upstream refused, or may not be called again |
 * | unmatched | may have moved | none: it was on chain before a request was bound to it, or it was too small |
 * | void | did not move, and never will | not served |
 */
export const PAYMENT_STATES = ['settling', 'owed', 'served', 'refundable', 'unmatched', 'void'] as const;

export type PaymentState = (typeof PAYMENT_STATES)[number];

export type PaymentEvent =
  /** A node returns it as confirmed, or it is final. */
  | { readonly kind: 'paid' }
  /** A fork removed its `confirmed` transaction; its bytes are sent again. */
  | { readonly kind: 'taken-back' }
  /** It failed on chain, is proved dead, or was never to be settled. */
  | { readonly kind: 'unpaid' }
  /** The upstream returned 2xx or 3xx, and the response is stored. */
  | { readonly kind: 'served' }
  /** The upstream returned 4xx, or may not be called again. */
  | { readonly kind: 'refused' }
  /** It is final, and the amount received is below the price. */
  | { readonly kind: 'short' };

/** The state after an event; unchanged if the event does not apply. `served` is permanent. */
export function paymentAfter(state: PaymentState, event: PaymentEvent): PaymentState {
  switch (event.kind) {
    case 'paid':
      return state === 'settling' ? 'owed' : state;
    case 'taken-back':
      return state === 'owed' ? 'settling' : state;
    case 'unpaid':
      return state === 'served' ? state : 'void';
    // A fork may remove the payment while the upstream responds; the resource is served all the same.
    case 'served':
      return isOpen(state) ? 'served' : state;
    case 'refused':
      return isOpen(state) ? 'refundable' : state;
    case 'short':
      return isOpen(state) ? 'unmatched' : state;
  }
}

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

/** `x402/<network>/<hash>`: the id of its settlement and of its workflow. */
export function paymentId(network: string, messageHash: string): string {
  return settlementId(X402, `${network}/${messageHash}`);
}
