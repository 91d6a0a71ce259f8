import { base64 } from '@scure/base';
import { paymentId } from '../domain/payment.ts';
import type { AwaitedCommitment, SettlementStatus } from '../domain/settlement.ts';
import type { Ledger } from '../ledger/ledger.ts';
import type { PaymentRow, UnmatchedPayment } from '../ledger/x402/payments.ts';
import type { Chain } from '../solana/chain.ts';
import type { RecentBlockhashes } from '../solana/tx/recent-blockhashes.ts';
import type { Budgets } from './budgets.ts';
import type { DirectSettlement } from './direct/client.ts';
import type { ExactPayment, Limits, Network, Proof, Refused, Terms } from './terms.ts';

/** Dependencies of the gateway and the facilitator for settling a payment. */
export interface PurchaseDeps {
  readonly ledger: Pick<Ledger, 'payments' | 'obligations' | 'attempts' | 'settlements'>;
  readonly chain: Chain;
  readonly network: Network;
  readonly blockhashes: Pick<RecentBlockhashes, 'blocksLeft'>;
  readonly runs: SettlementRuns;
  /** The x402 worker, which settles most payments without waiting for Temporal. Null: workflows settle all payments. */
  readonly direct: DirectSettlement | null;
  readonly budgets: Pick<Budgets, 'refusal'>;
  /** Addresses of all fee payer keys, including those that new quotes no longer name. */
  readonly managed: readonly string[];
  readonly limits: Limits;
  /** Logs a failure that the response does not describe. */
  readonly warn: (error: unknown, message: string) => void;
}

/** Starts the workflow of a payment if necessary, and waits up to `withinMs` for the commitment. See `PaymentRuns`. */
export interface SettlementRuns {
  reach(id: string, commitment: AwaitedCommitment, withinMs: number): Promise<Reached>;
}

export interface Reached {
  readonly status: SettlementStatus;
  readonly signature: string | null;
}

/** A payment that passed every check except the simulation. */
export interface CheckedPayment {
  readonly dialect: Proof['dialect'];
  readonly wire: Uint8Array;
  readonly terms: Terms;
  readonly payment: ExactPayment;
}

/**
 * Whether a payment may be settled. `slot`: the slot at which a node accepted it in a simulation. `landed`: it is
 * already on chain. `untried`: no node could simulate it. `unavailable`: a fee budget is spent.
 */
export type Admission =
  | { readonly kind: 'admitted'; readonly slot: bigint }
  | { readonly kind: 'landed' }
  | ({ readonly kind: 'refused'; readonly logs?: readonly string[] } & Refused)
  | { readonly kind: 'untried' | 'unavailable'; readonly reason: string };

/** About eight seconds, which covers a serve-first upstream, our signature, and the leader. */
const MIN_BLOCKS_LEFT = 20;

/**
 * Checks the fee budgets, and then simulates. The buyer of a `submitted` payment has paid its fee, so no budget
 * applies.
 */
export async function admit<Payment extends CheckedPayment>(
  { budgets }: Pick<PurchaseDeps, 'budgets'>,
  checked: Payment,
  route: string,
  simulation: (checked: Payment) => Promise<Admission>,
): Promise<Admission> {
  const spentBudget = checked.dialect === 'submitted' ? null : await budgets.refusal(checked.payment, route);
  return spentBudget === null ? simulation(checked) : { kind: 'unavailable', reason: spentBudget };
}

/**
 * Simulates the transaction unchanged, on a node that has reached the newest known slot. Its blockhash must stay valid
 * long enough for the settlement. If no node returns the remaining blocks, the simulation alone decides.
 */
export async function simulate(
  { chain, blockhashes, warn }: Pick<PurchaseDeps, 'chain' | 'blockhashes' | 'warn'>,
  { wire, payment: { blockhash, payer } }: CheckedPayment,
): Promise<Admission> {
  const expired = (message: string): Admission => ({
    kind: 'refused',
    reason: 'payment_expired',
    message: `the blockhash of the transaction ${message}`,
    payer,
  });
  try {
    const { slot: minSlot } = await chain.latestBlockhash();
    const [{ error, logs, slot }, blocksLeft] = await Promise.all([
      chain.simulateAsIs(base64.encode(wire), minSlot),
      blockhashes.blocksLeft(blockhash),
    ]);
    if (error?.text === 'AlreadyProcessed') return { kind: 'landed' };
    if (error?.text === 'BlockhashNotFound') return expired('has expired, or the node does not have it yet');
    if (error !== null) {
      const reason = 'invalid_exact_svm_transaction_simulation_failed';
      return { kind: 'refused', reason, message: error.text, payer, logs };
    }
    if (blocksLeft === null || blocksLeft >= MIN_BLOCKS_LEFT) return { kind: 'admitted', slot };
    return expired(
      `expires after ${blocksLeft} blocks; ${MIN_BLOCKS_LEFT} are required: sign with a newer one`,
    );
  } catch (error) {
    warn(error, `no node can simulate a payment of ${payer} now`);
    return { kind: 'untried', reason: 'no node can simulate the payment now' };
  }
}

export function idOf({ terms, payment }: Pick<CheckedPayment, 'terms' | 'payment'>): string {
  return paymentId(terms.network.caip2, payment.messageHash);
}

/** The database row of a payment. `acceptedSlot`: slot at which a node accepted or returned the transaction. */
export function paymentRow(
  checked: CheckedPayment,
  acceptedSlot: bigint,
  sale: Pick<UnmatchedPayment, 'seller' | 'route' | 'requestHash' | 'caller'>,
): Omit<UnmatchedPayment, 'reason'> {
  const { payment, terms, dialect, wire } = checked;
  const { network, amount, feePayer: _key, maxTimeoutSeconds: _seconds, ...rest } = terms;
  const { payer, feePayer, feeLamports, computeUnitLimit, computeUnitPriceMicroLamports, signature } =
    payment;
  const costs = { feePayer, feeLamports, computeUnitLimit, computeUnitPriceMicroLamports };
  const rowTerms = { ...rest, network: network.caip2, amount: amount.toString() };
  const transaction = { wire: base64.encode(wire), signature, acceptedSlot };
  return { id: idOf(checked), ...sale, dialect, payer, ...costs, terms: rowTerms, ...transaction };
}

/** Transaction signature (base58); null until the fee payer has signed. */
export async function signatureOf(
  { attempts }: Pick<Ledger, 'attempts'>,
  { id, signature }: PaymentRow,
): Promise<string | null> {
  return signature ?? (await attempts.of(id)).at(-1)?.signature ?? null;
}

/**
 * Why a payment moved no money: `status` is that of its settlement, `reason` a code of x402 version 2, `message` a
 * sentence.
 */
export async function voidReason(
  { settlements }: Pick<Ledger, 'settlements'>,
  id: string,
): Promise<{ readonly status: SettlementStatus; readonly reason: string; readonly message: string }> {
  const { status, reason } = await settlements.get(id);
  const code = status === 'dead' ? 'payment_expired' : 'invalid_exact_svm_transaction_failed';
  return { status, reason: code, message: reason?.message ?? `the payment is ${status}` };
}
