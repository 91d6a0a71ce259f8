import type { Ledger } from '../../ledger/ledger.ts';
import type { BoughtRequest, Caller, NewPayment } from '../../ledger/x402/payments.ts';
import type { Chain } from '../../solana/chain.ts';
import type { Budgets } from '../budgets.ts';
import { MAX_ANSWER_BYTES, type UpstreamAsker } from '../obligation.ts';
import { type CheckedPayment, ofTransaction, type SettlementRuns } from '../record.ts';
import type { PricedRoute } from '../routes/route.ts';
import type { TrialDeps } from '../trial.ts';
import type { UpstreamOptions } from '../upstream.ts';

export interface PurchaseDeps {
  readonly ledger: Pick<Ledger, 'payments' | 'obligations' | 'attempts' | 'settlements'>;
  readonly chain: Chain;
  readonly blockhashes: TrialDeps['blockhashes'];
  readonly runs: SettlementRuns;
  readonly upstream: UpstreamAsker;
  readonly budgets: Pick<Budgets, 'refusal'>;
  /** How long a request waits for the settlement before it is answered `settlement_pending`. */
  readonly answerWithinMs: number;
  /** Logs failures that the answer does not describe. */
  readonly warn: (error: unknown, what: string) => void;
}

/** What a caller asks for with a payment. */
export type Ask = Pick<Order, 'route' | 'requestHash' | 'request' | 'caller'>;

/** A payment that keeps the rules, and the request that it pays for. */
export interface Order extends CheckedPayment {
  readonly route: PricedRoute;
  readonly requestHash: string;
  /** Null where the route has an answer of its own. */
  readonly request: BoughtRequest | null;
  readonly caller: Caller;
  /** The slot in which a node shows it, where its buyer has sent it. */
  readonly shownIn: bigint | null;
}

/** For one question to the upstream while the buyer waits. */
const UPSTREAM_MS = 30_000;

/** The bounds of an answer that is kept, or held back. */
export function boundsOf({ maxAnswerBytes }: PricedRoute): UpstreamOptions {
  return { timeoutMs: UPSTREAM_MS, maxBytes: maxAnswerBytes ?? MAX_ANSWER_BYTES };
}

/** The payment as it goes on record. `acceptedSlot`: the slot in which a node accepts or shows it. */
export function rowOf(order: Order, acceptedSlot: bigint): Omit<NewPayment, 'answer' | 'lease'> {
  const { route, requestHash, request, caller } = order;
  return {
    ...ofTransaction(order, acceptedSlot),
    seller: 'gateway',
    route: route.id,
    requestHash,
    request,
    caller,
  };
}
