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
  /** Maximum wait for the settlement before the response is `settlement_pending`. */
  readonly answerWithinMs: number;
  /** Logs failures that the response does not describe. */
  readonly warn: (error: unknown, what: string) => void;
}

export type Ask = Pick<Order, 'route' | 'requestHash' | 'request' | 'caller'>;

export interface Order extends CheckedPayment {
  readonly route: PricedRoute;
  readonly requestHash: string;
  /** Null if the route has a static response. */
  readonly request: BoughtRequest | null;
  readonly caller: Caller;
  /** Slot of the transaction, if the buyer sent it. */
  readonly shownIn: bigint | null;
}

const UPSTREAM_MS = 30_000;

export function boundsOf({ maxAnswerBytes }: PricedRoute): UpstreamOptions {
  return { timeoutMs: UPSTREAM_MS, maxBytes: maxAnswerBytes ?? MAX_ANSWER_BYTES };
}

/** The payment's row. `acceptedSlot`: slot in which a node accepted the simulation or returned the transaction. */
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
