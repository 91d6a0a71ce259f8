import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { TokenPolicy } from '../../domain/token-rules.ts';
import type { ApiKeys, FacilitatorKey } from '../../ledger/operations/api-keys.ts';
import { FETCH_WITHIN_MS } from '../../ledger/x402/obligations.ts';
import type { PaymentRow } from '../../ledger/x402/payments.ts';
import { TtlCache } from '../../solana/rpc/ttl-cache.ts';
import type { Budgets } from '../budgets.ts';
import { openPayment } from '../direct/open-payment.ts';
import {
  type Admission,
  admit,
  type CheckedPayment,
  idOf,
  type PurchaseDeps,
  paymentRow,
  signatureOf,
  simulate,
  voidReason,
} from '../purchase.ts';
import type { RateLimit } from '../rate-limit.ts';
import type { TrustedProxies } from '../routes/client-address.ts';
import { isConfirmedByQuorum, needsSecondNode } from '../second-node.ts';
import type { Refused } from '../terms.ts';
import type { DiscoveryDeps } from './discovery.ts';
import { Examiner, type RefusedPayment, UNAVAILABLE } from './examine.ts';
import type { FacilitatorRequest } from './request.ts';

export interface FacilitatorDeps extends PurchaseDeps {
  /** Addresses of the fee payer keys for new payments. `/supported` returns the first. */
  readonly feePayers: readonly string[];
  readonly tokenPolicy: TokenPolicy;
  readonly discovery: DiscoveryDeps;
  readonly budgets: Pick<Budgets, 'refusal' | 'refusalOfCaller' | 'readOthers'>;
  /** Null: no key is required. */
  readonly apiKeys: Pick<ApiKeys, 'facilitatorKey'> | null;
  /** Proxies whose X-Forwarded-For names the client. */
  readonly trustedProxies: TrustedProxies;
  /** Limit of each key, or of each client address if no key is required. Null: no limit. */
  readonly rateLimit: RateLimit | null;
  /** Maximum wait of `/settle`, in ms. Default 20,000. */
  readonly settleWithinMs?: number;
}

export type VerifyOutcome = { readonly kind: 'valid'; readonly payer: string } | RefusedPayment;

/** Result of a settlement. `signature` is base58; null before the fee payer has signed. */
export type SettleOutcome =
  /** Returned to one caller only: see `SuccessDeliveries`. */
  | {
      readonly kind: 'success';
      readonly payment: PaymentRow;
      readonly signature: string;
      readonly holder: string;
    }
  | { readonly kind: 'settling'; readonly payer: string; readonly signature: string | null }
  | ({ readonly kind: 'failed'; readonly signature: string | null } & Refused);

export interface FacilitatorCaller {
  readonly facilitatorKey: FacilitatorKey;
  /** Hash of the request's Idempotency-Key; null without that header. */
  readonly key: string | null;
}

export interface SettleCaller extends FacilitatorCaller {
  /** True if the caller's connection is closed, so that it cannot receive a response. */
  readonly isGone: () => boolean;
}

const DEFAULT_SETTLE_WITHIN_MS = 20_000;
/** Lease for the delivery of a success. When it expires, another caller may claim the success. */
const DELIVERY_LEASE_MS = 30_000;
const POLL_MS = 100;
/** Minimum timeout of the first `reach` call, which starts the workflow even if the caller's time is over. */
const MIN_FIRST_WAIT_MS = 1_000;
/** Long enough for servers that call `/settle` directly after `/verify`, or after a short handler. */
const SIMULATION_CACHE_MS = 2_000;
const UNIDENTIFIED_CALLER = { identifier: null, authorization: null, cookie: null, address: null };

/** Verifies and settles payments for other sellers. */
export class Facilitator {
  readonly #deps: FacilitatorDeps;
  readonly #examiner: Examiner;
  readonly #simulations = new TtlCache<Admission>(SIMULATION_CACHE_MS, 1_000, 'answered');

  constructor(deps: FacilitatorDeps) {
    this.#deps = deps;
    this.#examiner = new Examiner(deps);
  }

  /**
   * Whether `settle` would succeed. Simulates only payments that are not recorded: a recorded one may be on chain
   * already, and a server that lost the first response verifies again before it settles again.
   */
  async verify(
    request: FacilitatorRequest,
    { key, facilitatorKey }: FacilitatorCaller,
  ): Promise<VerifyOutcome> {
    const { ledger } = this.#deps;
    const examined = await this.#examiner.examine(request, facilitatorKey);
    if (examined.kind === 'refused') return examined;
    const { order } = examined;
    const { payer } = order.payment;
    const recorded = async (): Promise<VerifyOutcome | null> => {
      const known = await ledger.payments.find(idOf(order));
      return known === undefined ? null : ((await this.#refusalOf(known, key)) ?? { kind: 'valid', payer });
    };
    const known = await recorded();
    if (known !== null) return known;
    const admission = await this.#admit(order, facilitatorKey);
    if (admission.kind === 'admitted') return { kind: 'valid', payer };
    if (admission.kind === 'refused') return admission;
    const message = 'the transaction was on chain before it was presented to this facilitator';
    return (await recorded()) ?? { kind: 'refused', reason: 'duplicate_settlement', message, payer };
  }

  /** Settles a payment once, however often it is presented, and returns the success to one caller. */
  async settle(request: FacilitatorRequest, caller: SettleCaller): Promise<SettleOutcome> {
    const { ledger, settleWithinMs = DEFAULT_SETTLE_WITHIN_MS } = this.#deps;
    const examined = await this.#examiner.examine(request, caller.facilitatorKey);
    if (examined.kind === 'refused') return { ...examined, kind: 'failed', signature: null };
    const { order } = examined;
    const end = performance.now() + Math.min(order.terms.maxTimeoutSeconds * 1_000, settleWithinMs);
    const opened = (await ledger.payments.find(idOf(order))) ?? (await this.#open(order, caller));
    if ('kind' in opened) return { ...opened, kind: 'failed', signature: null };
    const settled = await this.#follow(opened, caller, end);
    const { signature } = order.payment;
    return settled.kind === 'failed' ? { ...settled, signature: settled.signature ?? signature } : settled;
  }

  async #open(
    order: CheckedPayment,
    { key, facilitatorKey }: SettleCaller,
  ): Promise<PaymentRow | RefusedPayment> {
    const { payments } = this.#deps.ledger;
    const admission = await this.#admit(order, facilitatorKey);
    if (admission.kind === 'refused') return admission;
    const slot = admission.kind === 'admitted' ? admission.slot : 0n;
    // The facilitator knows no request, so the message hash takes the place of the request hash.
    const sale = {
      route: routeOf(facilitatorKey, order.terms),
      requestHash: order.payment.messageHash,
      caller: UNIDENTIFIED_CALLER,
    };
    const row = {
      ...paymentRow(order, slot, { seller: 'facilitator', ...sale }),
      facilitatorKey: facilitatorKey.name,
    };
    // If no other call has recorded this payment, its bytes may be copied from the chain, so they earn no success.
    const reason = 'the transaction was on chain before it was presented to this facilitator';
    if (admission.kind === 'landed') return payments.storeUnmatched({ ...row, reason });
    // No caller has the lease before the payment is confirmed, so that the next call can claim the success even if
    // this process stopped.
    const lease = { holder: randomUUID(), ms: 0 };
    const newPayment = { ...row, request: null, answer: null, lease, claim: key };
    const opened = await openPayment(this.#deps, newPayment, order.payment.signature === null);
    const { payer } = order.payment;
    if (opened.kind === 'stopped')
      return {
        kind: 'refused',
        reason: UNAVAILABLE,
        message: 'no new payment is settled now: settle it later',
        payer,
      };
    if (opened.kind === 'identifier-taken')
      throw new Error('payments.open returned identifier-taken for a payment without an identifier');
    return opened.kind === 'paid' ? payments.get(row.id) : opened.payment;
  }

  /** Checks the budgets and simulates. `landed`: the transaction is already on chain. */
  async #admit(
    order: CheckedPayment,
    caller: FacilitatorKey,
  ): Promise<Extract<Admission, { kind: 'admitted' | 'landed' }> | RefusedPayment> {
    const { payer } = order.payment;
    const overBudget = await this.#deps.budgets.refusalOfCaller(caller);
    if (overBudget !== null) return { kind: 'refused', reason: UNAVAILABLE, message: overBudget, payer };
    const route = routeOf(caller, order.terms);
    const admission = await admit(this.#deps, order, route, (checked) => this.#simulate(checked));
    const { kind } = admission;
    if (kind === 'admitted' || kind === 'landed' || kind === 'refused') return admission;
    return { kind: 'refused', reason: UNAVAILABLE, message: admission.reason, payer };
  }

  /** Concurrent calls share one simulation of a message. An accepted one is reused for two seconds. */
  async #simulate(order: CheckedPayment): Promise<Admission> {
    const { messageHash } = order.payment;
    const simulated = await this.#simulations.get(messageHash, () => simulate(this.#deps, order));
    if (simulated.kind !== 'admitted') this.#simulations.forget(messageHash);
    return simulated;
  }

  /**
   * Waits for the outcome of the payment. Returns `settling` at `end` (ms of `performance.now`), or if the caller is
   * gone.
   */
  async #follow(opened: PaymentRow, caller: SettleCaller, end: number): Promise<SettleOutcome> {
    const { ledger, runs, warn } = this.#deps;
    const { id, payer } = opened;
    const holder = randomUUID();
    let payment = opened;
    let failure: unknown = null;
    for (let poll = 0; ; poll += 1) {
      if (poll > 1) await sleep(POLL_MS);
      if (poll > 0) payment = await ledger.payments.get(id);
      const settled = await this.#outcome(payment, caller, holder);
      if (settled !== null) return settled;
      const leftMs = Math.max(end - performance.now(), poll === 0 ? MIN_FIRST_WAIT_MS : 0);
      if (leftMs <= 0 || (poll > 0 && caller.isGone())) break;
      if (payment.state === 'settling')
        failure = await runs.reach(id, 'confirmed', Math.ceil(leftMs)).then(
          () => null,
          (error: unknown) => error,
        );
    }
    if (failure !== null) warn(failure, `waiting for the settlement of payment ${id} failed`);
    return { kind: 'settling', payer, signature: await signatureOf(ledger, opened) };
  }

  /** Null if the payment is not confirmed, another caller has the lease, or the caller's connection is closed. */
  async #outcome(
    payment: PaymentRow,
    { key, isGone }: SettleCaller,
    holder: string,
  ): Promise<SettleOutcome | null> {
    const { ledger } = this.#deps;
    const refusal = await this.#refusalOf(payment, key);
    if (refusal === null && payment.state === 'settling') return null;
    const signature = await signatureOf(ledger, payment);
    if (refusal !== null) return { ...refusal, kind: 'failed', signature };
    if (signature === null || isGone() || !(await this.#isPaid(payment, signature))) return null;
    const isClaimed = await ledger.obligations.claim(payment.id, key, { holder, ms: DELIVERY_LEASE_MS });
    return isClaimed ? { kind: 'success', payment, signature, holder } : null;
  }

  /** Whether enough nodes report the payment as confirmed. The gateway's default for its routes also applies here. */
  async #isPaid(payment: PaymentRow, signature: string): Promise<boolean> {
    if (!needsSecondNode(this.#deps.chain.pool, null, payment)) return true;
    return isConfirmedByQuorum(this.#deps, payment.id, signature, 0);
  }

  /** Why a recorded payment never yields a success; null if it can. The `key` that claimed a success gets it again. */
  async #refusalOf(known: PaymentRow, key: string | null): Promise<RefusedPayment | null> {
    const { state, payer, received, seller, claim } = known;
    if (seller === 'facilitator') {
      if (state === 'settling' || (state === 'owed' && isClaimable(known, key))) return null;
      if (state === 'served' && key !== null && claim === key) return null;
      if (state === 'void')
        return { kind: 'refused', ...(await voidReason(this.#deps.ledger, known.id)), payer };
      if (state === 'unmatched' && received !== null) {
        const message = known.reason ?? 'the seller did not receive the amount';
        return { kind: 'refused', reason: 'post_settlement_transfer_not_confirmed', message, payer };
      }
    }
    const message = 'the transaction has already been presented as a payment';
    return { kind: 'refused', reason: 'duplicate_settlement', message, payer };
  }
}

/** False if the claim of the success comes too late. The database decides between claims; see `Obligations.claim`. */
function isClaimable({ paidAt, claim }: PaymentRow, key: string | null): boolean {
  const isSameKey = key !== null && claim === key;
  const withinMs = isSameKey ? FETCH_WITHIN_MS.sameKey : FETCH_WITHIN_MS.anyCaller;
  return paidAt === null || paidAt.getTime() + withinMs > Date.now();
}

/**
 * Route id of a facilitator payment. It has the caller and the mint, so that failed payments of one caller, or of a
 * worthless mint, do not stop the payments of others to the same seller.
 */
function routeOf({ name }: FacilitatorKey, { payTo, asset }: CheckedPayment['terms']): string {
  return `facilitator/${name === '' ? '*' : name}/${payTo}/${asset}`;
}
