import { base64 } from '@scure/base';
import { isDomainError } from '../domain/errors.ts';
import { X402 } from '../domain/settlement-kinds.ts';
import type { SigningTask } from '../domain/steps.ts';
import { TIMEOUTS } from '../domain/timeouts.ts';
import { Groups } from '../ledger/groups.ts';
import type { Ledger } from '../ledger/ledger.ts';
import type { NewAttempt } from '../ledger/settlements/attempts.ts';
import type { SettlementRow } from '../ledger/settlements/settlements.ts';
import type { PaymentRow } from '../ledger/x402/payments.ts';
import { type AdoptDeps, adopt } from '../settlement/adopt.ts';
import type { AttemptPosition, Composition, Kind } from '../settlement/kind.ts';
import type { Chain } from '../solana/chain.ts';
import type { AdoptedLifetimes } from '../solana/proof/adopted.ts';
import { receivedBy } from './received.ts';

export interface X402KindDeps {
  readonly ledger: Pick<Ledger, 'payments'>;
  readonly chain: Pick<Chain, 'pool'>;
  readonly lifetimes: AdoptedLifetimes;
  readonly feePayers: readonly string[];
}

/** Name of a fee payer's key. It is equal on all workers. */
export function feePayerKeyName(address: string): string {
  return `fee-payer/${address}`;
}

/** The settlement kind of x402 payments. Each attempt adopts the buyer's message. */
export function x402Kind({ ledger, chain, lifetimes, feePayers }: X402KindDeps): Kind {
  // The payment of a settlement is read once for each preparation, which is safe because its terms never change.
  const paymentsBySettlement = new WeakMap<SettlementRow, Promise<PaymentRow>>();
  const paymentOf = (settlement: SettlementRow) => {
    const payment = paymentsBySettlement.get(settlement) ?? ledger.payments.get(settlement.id);
    paymentsBySettlement.set(settlement, payment);
    return payment;
  };
  // Many payments of one slot land at the same time.
  const landedPayments = new Groups(async (ids: readonly string[]) => {
    const payments = new Map((await ledger.payments.listByIds(ids)).map((payment) => [payment.id, payment]));
    return (id) => payments.get(id);
  });
  return {
    compose: async (settlement, position): Promise<Composition> => {
      const payment = await paymentOf(settlement);
      try {
        const attempt = await adoptPayment({ pool: chain.pool, lifetimes, feePayers }, payment, position);
        return { kind: 'composed', attempt, reservations: [] };
      } catch (error) {
        if (!isDomainError(error, 'InvalidRequest')) throw error;
        return { kind: 'rejected', reason: { code: 'cannot_adopt', message: error.message } };
      }
    },
    tasks: async (settlement, { message }) => signingTasksOf(await paymentOf(settlement), message),
    onMissingRun: async ({ id, status, reason }) => {
      const { leaseUntil, state, askedAt, createdAt } = await ledger.payments.get(id);
      // The worker that settles a payment itself needs no run unless the payment is late: see `LatePayments`. Such a run
      // disturbs no request.
      if (status === 'sending' || status === 'confirmed')
        return isOlder(createdAt, TIMEOUTS.latePaymentMs) ? 'start' : 'leave';
      if (leaseUntil !== null && leaseUntil.getTime() > Date.now()) return 'leave';
      // The upstream was called before settlement, and no request waits for the answer any more.
      if (state === 'settling' && askedAt !== null) return 'cancel';
      // The signer's limits are below those of the gateway: the buyer waits in vain for a message that has expired.
      const isRefused = status === 'held' && reason?.code === 'signing_refused';
      return isRefused && isOlder(createdAt, EXPIRED_AFTER_MS) ? 'cancel' : 'start';
    },
    landedAmounts: async ({ settlementId }, spending) => {
      const payment = (await landedPayments.add(settlementId)) ?? (await ledger.payments.get(settlementId));
      return { movedLamports: 0n, amountReceived: receivedBy(payment, spending) };
    },
  };
}

/** Far longer than the 150 blocks for which a blockhash is valid. */
const EXPIRED_AFTER_MS = 300_000;

function isOlder(createdAt: Date, ms: number): boolean {
  return createdAt.getTime() < Date.now() - ms;
}

/** What the attempt of a payment is made from; it never changes. */
type AdoptablePayment = Pick<
  PaymentRow,
  | 'id'
  | 'wire'
  | 'acceptedSlot'
  | 'payer'
  | 'feePayer'
  | 'feeLamports'
  | 'computeUnitLimit'
  | 'computeUnitPriceMicroLamports'
  | 'terms'
>;

export interface AdoptPaymentDeps extends AdoptDeps {
  readonly feePayers: readonly string[];
}

/** The attempt that adopts the buyer's message. Writes nothing. @throws InvalidRequest, NoHealthyNode */
export function adoptPayment(
  { feePayers, ...deps }: AdoptPaymentDeps,
  payment: AdoptablePayment,
  position: AttemptPosition,
): Promise<NewAttempt> {
  const transaction = { wire: base64.decode(payment.wire ?? ''), slot: payment.acceptedSlot };
  const adoption = { settlementId: payment.id, position, transaction, ours: feePayers };
  return adopt(deps, { ...adoption, cost: costOf(payment) });
}

/** The fee payer's signing task, with the terms that the signing policy compares with the message. */
export function signingTasksOf(
  { feePayer, feeLamports, computeUnitLimit, terms }: AdoptablePayment,
  message: string,
): readonly SigningTask[] {
  const key = feePayerKeyName(feePayer);
  const { asset, tokenProgram, decimals, amount, payTo, memo } = terms;
  const transfer = { asset, tokenProgram, decimals: String(decimals), amount, payTo, memo };
  const bounds = { maxFeeLamports: feeLamports.toString(), maxComputeUnits: String(computeUnitLimit) };
  return [{ kind: X402, key, message, terms: { ...transfer, ...bounds } }];
}

function costOf({
  feeLamports,
  computeUnitLimit,
  computeUnitPriceMicroLamports,
  feePayer,
  payer,
}: AdoptablePayment) {
  return {
    computeUnitLimit,
    computeUnitPriceMicroLamports,
    // A fee that the buyer pays is not our cost.
    feeLamports: feePayer === payer ? 0n : feeLamports,
    rentLamports: 0n,
  };
}
