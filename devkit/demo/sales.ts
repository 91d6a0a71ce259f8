import { setTimeout as sleep } from 'node:timers/promises';
import type { Payment } from '../../src/client/client.ts';
import { type ChainPayment, paymentsOnChain } from '../localstack/chain-truth.ts';
import { statusesOf } from '../localstack/rpc.ts';
import type { Sales } from '../localstack/sales.ts';
import {
  buyInAllForms,
  type GatewayKill,
  killBetweenSettlementAndAnswer,
  type Purchase,
  repeat,
  type Survivor,
  TITLES,
  whenSold,
} from './shopping.ts';
import type { Stage } from './stage.ts';
import type { DemoRow } from './table.ts';

export interface SalesReport {
  readonly paid: number;
  readonly served: number;
  readonly replayed: number;
  /** Payments that were shown for another request, and refused. */
  readonly refusedDuplicates: number;
  readonly kill: GatewayKill | null;
  readonly faults: readonly string[];
  readonly rows: readonly DemoRow[];
}

/** What was bought until the gateway was killed. `survivor` settles when the buyer who repeats has an answer. */
export interface Selling {
  readonly sales: Sales;
  readonly bought: readonly Purchase[];
  readonly replay: Purchase;
  /** False where the upstream was asked again for `replay`. */
  readonly isReplayStored: boolean;
  readonly duplicate: Purchase;
  readonly survivor: Promise<Survivor>;
}

const LOOK_MS = 200;

/** Sells in all forms, shows one payment again and for another request, and kills the gateway in the middle of one more sale. */
export async function sell(stage: Stage): Promise<Selling> {
  const { sales } = stage.stack;
  if (sales === null) throw new Error('the demo needs its own chain: unset SLUICE_RPC_URLS');
  await whenSold(sales, stage.signal);
  const bought = await buyInAllForms(stage, sales);
  const [first] = bought;
  if (first === undefined) throw new Error('nothing was bought');
  const before = stage.upstream.asked.length;
  const replay = await repeat(stage, first);
  const isReplayStored = stage.upstream.asked.length === before;
  stage.say(`the same payment for the same request: ${replay.status}, the stored answer`);
  const duplicate = await repeat(stage, first, '?of=another');
  stage.say(`the same payment for another request: ${duplicate.status} ${errorOf(duplicate) ?? ''}`);
  const { survivor } = await killBetweenSettlementAndAnswer(stage, sales);
  return { sales, bought, replay, isReplayStored, duplicate, survivor };
}

export async function auditSales(stage: Stage, selling: Selling): Promise<SalesReport> {
  const { sales, bought, replay, isReplayStored, duplicate } = selling;
  const { last, kill } = await selling.survivor;
  stage.say(`the repeated payment was answered ${last.status} after ${kill.statuses.length} requests`);
  const purchases = [...bought, last];
  const recorded = await recordOf(stage);
  await whenFinal(stage, recorded);
  const payments = (await paymentsOnChain(stage.node, sales.buyer.address)).filter(
    ({ wallet, asset }) => wallet === sales.seller && asset === sales.asset,
  );
  const [first] = bought;
  const isReplayed = replay.status === 200 && replay.body === first?.body && isReplayStored;
  const isRefused = duplicate.status === 402 && errorOf(duplicate) === 'duplicate_settlement';
  return {
    paid: payments.length,
    served: stage.upstream.answered.length,
    replayed: isReplayed ? 1 : 0,
    refusedDuplicates: isRefused ? 1 : 0,
    kill,
    faults: [
      ...purchases.flatMap(({ what, status }) => (status === 200 ? [] : [`${what}: answered ${status}`])),
      ...recorded.flatMap((payment) => recordFault(payment, payments, stage.upstream.answered)),
      ...countFault('recorded payments', recorded.length, purchases.length),
      ...countFault('transfers to the seller', payments.length, purchases.length),
      ...countFault('answers of the upstream', stage.upstream.answered.length, purchases.length),
      ...(isReplayed ? [] : ['a repeated request did not get the stored answer']),
      ...(isRefused ? [] : ['a payment was accepted for another request']),
    ],
    rows: recorded.map((payment) => rowOf(payment, payments, kill)),
  };
}

async function recordOf({ sluice, signal }: Stage): Promise<readonly Payment[]> {
  const payments: Payment[] = [];
  for await (const payment of sluice.payments.list({}, { signal })) payments.push(payment);
  return payments.reverse();
}

/** Resolves when the node returns `finalized` for every recorded payment. */
async function whenFinal({ node, signal }: Stage, payments: readonly Payment[]): Promise<void> {
  const signatures = payments.flatMap(({ signature }) => signature ?? []);
  const isFinal = async () =>
    (await statusesOf(node, signatures)).every((status) => status?.confirmationStatus === 'finalized');
  while (!(await isFinal())) await sleep(LOOK_MS, undefined, { signal });
}

/** A recorded payment must have one transfer of its amount and one answer. */
function recordFault(
  { id, state, signature, amount }: Payment,
  payments: readonly ChainPayment[],
  answered: readonly string[],
): readonly string[] {
  const transfers = payments.filter((payment) => payment.signature === signature);
  const answers = answered.filter((key) => key === id).length;
  const isRight =
    state === 'served' &&
    answers === 1 &&
    transfers.length === 1 &&
    transfers[0]?.received === BigInt(amount);
  return isRight ? [] : [`payment ${id}: ${state}, ${transfers.length} transfers, ${answers} answers`];
}

function countFault(what: string, is: number, expected: number): readonly string[] {
  return is === expected ? [] : [`${what}: ${is}, not ${expected}`];
}

function errorOf({ body }: Purchase): string | null {
  try {
    return (JSON.parse(body) as { error?: string }).error ?? null;
  } catch {
    return null;
  }
}

function rowOf(payment: Payment, payments: readonly ChainPayment[], kill: GatewayKill): DemoRow {
  const { id, dialect, state, amount, signature } = payment;
  const transfers = payments.filter((transfer) => transfer.signature === signature);
  const received = transfers.map((transfer) => transfer.received.toString()).join(' + ');
  return {
    what: id === kill.paymentId ? `${TITLES[dialect]}, gateway killed before its answer` : TITLES[dialect],
    status: state,
    sent: amount,
    onChain: `${transfers.length} x ${received}`,
    note: signature ?? '',
  };
}
