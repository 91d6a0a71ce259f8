import { base64 } from '@scure/base';
import { paymentId } from '../../domain/payment.ts';
import type { Ledger } from '../../ledger/ledger.ts';
import type { BoughtRequest, Caller, NewPayment } from '../../ledger/payments.ts';
import type { Chain } from '../../solana/chain.ts';
import type { Budgets } from '../budgets.ts';
import { MAX_ANSWER_BYTES, type UpstreamAsker } from '../obligation.ts';
import type { PricedRoute } from '../routes/route.ts';
import type { ExactPayment, Proof, Terms } from '../terms.ts';
import type { UpstreamOptions } from '../upstream.ts';

export interface PurchaseDeps {
  readonly ledger: Pick<Ledger, 'payments' | 'obligations' | 'attempts' | 'settlements'>;
  readonly chain: Chain;
  readonly runs: {
    reach(id: string, commitment: 'confirmed' | 'finalized', withinMs: number): Promise<void>;
  };
  readonly upstream: UpstreamAsker;
  readonly budgets: Pick<Budgets, 'refusal'>;
  /** How long a buyer waits before he is told that it is pending. */
  readonly answerWithinMs: number;
  /** For what is not the buyer's business. */
  readonly warn: (error: unknown, what: string) => void;
}

/** What a caller asks for with a payment. */
export type Ask = Pick<Order, 'route' | 'requestHash' | 'request' | 'caller'>;

/** A payment that keeps the rules, and the request that it pays for. */
export interface Order {
  readonly route: PricedRoute;
  readonly requestHash: string;
  /** Null where the route has an answer of its own. */
  readonly request: BoughtRequest | null;
  readonly caller: Caller;
  readonly dialect: Proof['dialect'];
  readonly wire: Uint8Array;
  /** The slot in which a node shows it, where its buyer has sent it. */
  readonly shownIn: bigint | null;
  readonly payment: ExactPayment;
  readonly terms: Terms;
}

/** For one question to the upstream while the buyer waits. */
const UPSTREAM_MS = 30_000;

export function idOf({ terms, payment }: Pick<Order, 'terms' | 'payment'>): string {
  return paymentId(terms.network.caip2, payment.messageHash);
}

/** The bounds of an answer that is kept, or held back. */
export function boundsOf({ maxAnswerBytes }: PricedRoute): UpstreamOptions {
  return { timeoutMs: UPSTREAM_MS, maxBytes: maxAnswerBytes ?? MAX_ANSWER_BYTES };
}

/** The payment as it goes on record. `acceptedSlot`: the slot in which a node accepts or shows it. */
export function rowOf(order: Order, acceptedSlot: bigint): Omit<NewPayment, 'answer' | 'lease'> {
  const { payment, terms, route, requestHash, request, caller, dialect, wire } = order;
  const { network, asset, tokenProgram, decimals, amount, payTo, tokenAccount, memo } = terms;
  return {
    id: idOf(order),
    seller: 'gateway',
    dialect,
    payer: payment.payer,
    feePayer: payment.feePayer,
    feeLamports: payment.feeLamports,
    computeUnitLimit: payment.computeUnitLimit,
    computeUnitPriceMicroLamports: payment.computeUnitPriceMicroLamports,
    terms: {
      network: network.caip2,
      asset,
      tokenProgram,
      decimals,
      amount: amount.toString(),
      payTo,
      tokenAccount,
      memo,
    },
    wire: base64.encode(wire),
    signature: payment.signature,
    acceptedSlot,
    route: route.id,
    requestHash,
    request,
    caller,
  };
}
