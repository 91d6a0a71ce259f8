import { base64 } from '@scure/base';
import { paymentId } from '../domain/payment.ts';
import type { ObserveStage } from '../domain/payment-stages.ts';
import type { AwaitedCommitment, SettlementStatus } from '../domain/settlement.ts';
import type { Ledger } from '../ledger/ledger.ts';
import type { PaymentRow, UnmatchedPayment } from '../ledger/x402/payments.ts';
import type { Chain } from '../solana/chain.ts';
import { readTokenAccount } from '../solana/tokens/token-account.ts';
import type { TransactionError } from '../solana/tx/error.ts';
import type { RecentBlockhashes } from '../solana/tx/recent-blockhashes.ts';
import type { Simulation } from '../solana/tx/simulation.ts';
import type { Budgets } from './budgets.ts';
import type { DirectSettlement } from './direct/client.ts';
import type { ExactPayment, Limits, Network, Proof, Refused, Terms } from './terms.ts';
import { timed } from './timed.ts';

/** Dependencies of the gateway and the facilitator for settling a payment. */
export interface PurchaseDeps {
  readonly ledger: Pick<Ledger, 'payments' | 'obligations' | 'attempts' | 'settlements'>;
  readonly chain: Chain;
  readonly network: Network;
  readonly blockhashes: Pick<RecentBlockhashes, 'blocksLeft'>;
  readonly runs: SettlementRuns;
  /** The x402 worker, which settles most payments without waiting for Temporal. Null: workflows settle all payments. */
  readonly direct: DirectSettlement | null;
  readonly budgets: Pick<Budgets, 'refusal' | 'readOthers'>;
  /** Addresses of all fee payer keys, including those that new quotes no longer name. */
  readonly managed: readonly string[];
  readonly limits: Limits;
  /** Logs a failure that the response does not describe. */
  readonly warn: (error: unknown, message: string) => void;
  readonly observe: ObserveStage;
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
 * Whether a payment may be settled. `slot`: the slot at which a node accepted it in a simulation; `sourceUnits`: the
 * balance that the simulation leaves in the token account that pays, or null if the node does not return it. `landed`: it
 * is already on chain. `untried`: no node could simulate it. `unavailable`: our fee payer does not pay its fee now.
 */
export type Admission =
  | { readonly kind: 'admitted'; readonly slot: bigint; readonly sourceUnits: bigint | null }
  | { readonly kind: 'landed' }
  | ({ readonly kind: 'refused'; readonly logs?: readonly string[] } & Refused)
  | { readonly kind: 'untried' | 'unavailable'; readonly reason: string };

/** About eight seconds, which cover our signature and the leader. */
const MIN_BLOCKS_LEFT = 20;
const BLOCK_MS = 400;

/** Blocks that a blockhash must stay valid if the settlement begins up to `seconds` after the simulation. */
export function blocksRequired(seconds: number): number {
  return MIN_BLOCKS_LEFT + Math.ceil((seconds * 1000) / BLOCK_MS);
}

/**
 * Checks the fee budgets, simulates, and checks that the balance of the source covers its open payments too. Where the
 * buyer pays the fee, the simulation alone decides.
 */
export async function admit<Payment extends CheckedPayment>(
  { budgets }: Pick<PurchaseDeps, 'budgets'>,
  checked: Payment,
  route: string,
  simulation: (checked: Payment) => Promise<Admission>,
): Promise<Admission> {
  const { sourceAccount, amount } = checked.payment;
  if (!isSponsored(checked) || sourceAccount === null) return simulation(checked);
  const [refusal, holdIfCovered] = await Promise.all([
    budgets.refusal(checked.payment, route),
    budgets.readOthers({ id: idOf(checked), sourceAccount, amount }),
  ]);
  const admission: Admission =
    refusal === null ? await simulation(checked) : { kind: 'unavailable', reason: refusal };
  if (admission.kind !== 'admitted' || holdIfCovered(admission.sourceUnits ?? -1n)) return admission;
  return admission.sourceUnits === null
    ? { kind: 'untried', reason: `the node returns no balance of ${sourceAccount} after the simulation` }
    : { kind: 'unavailable', reason: `open payments use up the balance of ${sourceAccount}` };
}

/** True if one of our keys pays the fee. */
function isSponsored({ dialect, payment: { feePayer, payer } }: CheckedPayment): boolean {
  return (dialect === 'v1' || dialect === 'v2') && feePayer !== payer;
}

/**
 * Simulates the transaction unchanged, on a node that has reached the newest known slot. Its blockhash must stay valid
 * for `minBlocksLeft`. If no node returns the remaining blocks, the simulation alone decides.
 */
export function simulate(
  deps: Pick<PurchaseDeps, 'chain' | 'blockhashes' | 'observe' | 'warn'>,
  checked: CheckedPayment,
  minBlocksLeft = MIN_BLOCKS_LEFT,
): Promise<Admission> {
  return timed(deps.observe, 'simulation', () => simulateUnchanged(deps, checked, minBlocksLeft));
}

async function simulateUnchanged(
  { chain, blockhashes, warn }: Pick<PurchaseDeps, 'chain' | 'blockhashes' | 'warn'>,
  checked: CheckedPayment,
  minBlocksLeft: number,
): Promise<Admission> {
  const { wire, payment } = checked;
  const { blockhash, payer, sourceAccount } = payment;
  const expired = (message: string): Admission => ({
    kind: 'refused',
    reason: 'payment_expired',
    message: `the blockhash of the transaction ${message}`,
    payer,
  });
  try {
    const { slot: minSlot } = await chain.latestBlockhash();
    const sources = sourceAccount === null ? [] : [sourceAccount];
    const [{ error, logs, slot, accounts }, blocksLeft] = await Promise.all([
      chain.simulateAsIs(base64.encode(wire), minSlot, sources),
      blockhashes.blocksLeft(blockhash),
    ]);
    if (error?.text === 'AlreadyProcessed') return { kind: 'landed' };
    if (error?.text === 'BlockhashNotFound') return expired('has expired, or the node does not have it yet');
    if (error !== null && isSponsored(checked) && isOfFeePayer(error))
      return {
        kind: 'unavailable',
        reason: `fee payer ${checked.payment.feePayer} lacks SOL: ${error.text}`,
      };
    if (error !== null) {
      const reason = 'invalid_exact_svm_transaction_simulation_failed';
      return { kind: 'refused', reason, message: error.text, payer, logs };
    }
    if (blocksLeft === null || blocksLeft >= minBlocksLeft)
      return { kind: 'admitted', slot, sourceUnits: unitsOf(sourceAccount, accounts) };
    return expired(
      `expires after ${blocksLeft} blocks; ${minBlocksLeft} are required: sign with a newer one`,
    );
  } catch (error) {
    warn(error, `no node can simulate a payment of ${payer} now`);
    return { kind: 'untried', reason: 'no node can simulate the payment now' };
  }
}

/** True if the fee payer, which is account 0, has too few lamports or does not exist. */
function isOfFeePayer(error: TransactionError): boolean {
  if (error.kind === 'rent') return error.account === 0;
  return error.text === 'InsufficientFundsForFee' || error.text === 'AccountNotFound';
}

/** Base units in the token account; null if the node does not return the account. */
function unitsOf(address: string | null, accounts: Simulation['accounts']): bigint | null {
  const [account = null] = accounts ?? [];
  return address === null ? null : (readTokenAccount(address, account)?.amount ?? null);
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
  const { payer, sourceAccount, feePayer, signature } = payment;
  const { feeLamports, computeUnitLimit, computeUnitPriceMicroLamports } = payment;
  const costs = { feePayer, feeLamports, computeUnitLimit, computeUnitPriceMicroLamports };
  const rowTerms = { ...rest, network: network.caip2, amount: amount.toString() };
  const transaction = { wire: base64.encode(wire), signature, acceptedSlot };
  return {
    id: idOf(checked),
    ...sale,
    dialect,
    payer,
    sourceAccount,
    ...costs,
    terms: rowTerms,
    ...transaction,
  };
}

/**
 * Transaction signature (base58); null until the fee payer has signed. The attempt has the signature that landed if the
 * buyer signed the message twice.
 */
export async function signatureOf(
  { attempts }: Pick<Ledger, 'attempts'>,
  { id, signature }: Pick<PaymentRow, 'id' | 'signature'>,
): Promise<string | null> {
  return (await attempts.of(id)).at(-1)?.signature ?? signature;
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
