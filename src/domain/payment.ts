import { settlementId, X402 } from './settlement-kinds.ts';

/**
 * States of an x402 payment. {@link PAYMENT_EVENTS} has every transition. `served` and `void` are final.
 *
 * | state | the money | the resource | next |
 * |---|---|---|---|
 * | settling | not confirmed | not served | owed, served, refundable, unmatched, void |
 * | owed | moved | must be served by the gateway or the workflow | settling (fork), served, refundable, unmatched, void |
 * | served | moved | served once; the same caller can get the stored response again | |
 * | refundable | moved | the upstream refused, may not be called again, or no caller fetched the facilitator's success | void |
 * | unmatched | may have moved | none: it was on chain before it was presented, or too little arrived | void |
 * | void | did not move, and never will | not served, or another payment was served in its place | |
 */
export const PAYMENT_STATES = ['settling', 'owed', 'served', 'refundable', 'unmatched', 'void'] as const;

export type PaymentState = (typeof PAYMENT_STATES)[number];

interface Transition {
  readonly from: readonly PaymentState[];
  readonly to: PaymentState;
}

/** States of a payment that is not served, and can still be. */
export const UNSERVED_STATES = ['settling', 'owed'] as const;

/** Unfinished payments, for metrics. */
export interface PaymentCount {
  readonly seller: 'gateway' | 'facilitator';
  readonly state: (typeof UNSERVED_STATES)[number];
  readonly count: number;
  /** Seconds since the oldest of them was paid or, if it is not paid, stored. */
  readonly oldestSeconds: number;
}

/** The transition of each event. An event has no effect in a state that is not in `from`. */
export const PAYMENT_EVENTS = {
  /** A node returns the transaction as confirmed, or it is final. */
  paid: { from: ['settling'], to: 'owed' },
  /** A fork removed the `confirmed` transaction, and its bytes are sent again. */
  'taken-back': { from: ['owed'], to: 'settling' },
  /** The transaction failed on chain or is proved dead, or the settlement was cancelled. */
  unpaid: { from: ['settling', 'owed', 'refundable', 'unmatched'], to: 'void' },
  /** The upstream returned 2xx. Possible from `settling`, because a fork can remove the payment meanwhile. */
  served: { from: UNSERVED_STATES, to: 'served' },
  /** The upstream refused the request, or may not be called again. */
  refused: { from: UNSERVED_STATES, to: 'refundable' },
  /** No caller of the facilitator has fetched the success in time. */
  unfetched: { from: ['owed'], to: 'refundable' },
  /** The transaction is final, and the received amount is below the price. */
  short: { from: UNSERVED_STATES, to: 'unmatched' },
} as const satisfies Readonly<Record<string, Transition>>;

export type PaymentEvent = keyof typeof PAYMENT_EVENTS;

/** `x402/<network>/<hash>`: the id of a payment, of its settlement and of its workflow. */
export function paymentId(network: string, messageHash: string): string {
  return settlementId(X402, `${network}/${messageHash}`);
}
