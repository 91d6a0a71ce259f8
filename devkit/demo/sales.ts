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
  presentPass,
  repeat,
  type Survivor,
  TITLES,
  waitUntilSelling,
} from './shopping.ts';
import type { Stage } from './stage.ts';
import type { DemoRow } from './table.ts';

export interface SalesReport {
  readonly paid: number;
  readonly served: number;
  readonly replayed: number;
  /** Number of payments that were presented again for another request, and refused. */
  readonly refusedDuplicates: number;
  /** Number of requests that an access pass bought, without a payment. */
  readonly passes: number;
  readonly kill: GatewayKill | null;
  readonly faults: readonly string[];
  readonly rows: readonly DemoRow[];
}

/** The purchases until the gateway was killed. `survivor` resolves when the repeated request has an answer. */
export interface SaleRun {
  readonly sales: Sales;
  readonly bought: readonly Purchase[];
  readonly replay: Purchase;
  /** False if `replay` caused another request to the upstream. */
  readonly isReplayStored: boolean;
  readonly duplicate: Purchase;
  /** The request with the access pass of the first purchase. The upstream gets it with a key of its own. */
  readonly passUse: Purchase;
  readonly survivor: Promise<Survivor>;
}

const POLL_MS = 200;

/** Buys in all payment formats, repeats one payment for the same and for another request, uses its access pass, and kills the gateway during one more sale. */
export async function runSales(stage: Stage): Promise<SaleRun> {
  const { sales } = stage.stack;
  if (sales === null) throw new Error('the demo needs its own chain: unset SLUICE_RPC_URLS');
  await waitUntilSelling(sales, stage.signal);
  const bought = await buyInAllForms(stage, sales);
  const [first] = bought;
  if (first === undefined) throw new Error('nothing was bought');
  const requestCount = stage.upstream.asked.length;
  const replay = await repeat(stage, first);
  const isReplayStored = stage.upstream.asked.length === requestCount;
  const source = isReplayStored ? 'the stored answer' : 'a new answer of the upstream';
  stage.say(`the same payment for the same request: ${replay.status}, ${source}`);
  const duplicate = await repeat(stage, first, '?of=another');
  stage.say(`the same payment for another request: ${duplicate.status} ${errorOf(duplicate) ?? ''}`);
  const passUse = await presentPass(stage, first);
  stage.say(
    `the access pass of that payment, without a payment: ${passUse.status}, a new answer of the upstream`,
  );
  const { survivor } = await killBetweenSettlementAndAnswer(stage, sales);
  return { sales, bought, replay, isReplayStored, duplicate, passUse, survivor };
}

export async function auditSales(stage: Stage, selling: SaleRun): Promise<SalesReport> {
  const { sales, bought, replay, isReplayStored, duplicate, passUse } = selling;
  const { last, kill } = await selling.survivor;
  stage.say(`the repeated payment got ${last.status} after ${kill.statuses.length} requests`);
  const purchases = [...bought, last];
  const recorded = await readPayments(stage);
  await waitUntilFinalized(stage, recorded);
  const payments = (await paymentsOnChain(stage.node, sales.buyer.address)).filter(
    ({ wallet, asset }) => wallet === sales.seller && asset === sales.asset,
  );
  const [first] = bought;
  const isReplayed = replay.status === 200 && replay.body === first?.body && isReplayStored;
  const answered = stage.upstream.answered.filter((key) => recorded.some(({ id }) => id === key));
  const passAnswers = stage.upstream.answered.length - answered.length;
  const isPassed = passAnswers === 1 && passUse.status === 200 && passUse.body !== first?.body;
  const isRefused = duplicate.status === 402 && errorOf(duplicate) === 'duplicate_settlement';
  return {
    paid: payments.length,
    served: answered.length,
    replayed: isReplayed ? 1 : 0,
    refusedDuplicates: isRefused ? 1 : 0,
    passes: isPassed ? 1 : 0,
    kill,
    faults: [
      ...purchases.flatMap(({ what, status }) =>
        status === 200 ? [] : [`${what}: the gateway answered ${status}`],
      ),
      ...recorded.flatMap((payment) => recordFault(payment, payments, stage.upstream.answered)),
      ...countFault('recorded payments', recorded.length, purchases.length),
      ...countFault('transfers to the seller', payments.length, purchases.length),
      ...countFault('answers of the upstream', answered.length, purchases.length),
      ...(isReplayed ? [] : ['a repeated request did not get the stored answer']),
      ...(isPassed ? [] : ['an access pass did not buy exactly one answer']),
      ...(isRefused ? [] : ['a payment was accepted for another request']),
    ],
    rows: recorded.map((payment) => rowOf(payment, payments, kill)),
  };
}

async function readPayments({ sluice, signal }: Stage): Promise<readonly Payment[]> {
  const payments: Payment[] = [];
  for await (const payment of sluice.payments.list({}, { signal })) payments.push(payment);
  return payments.reverse();
}

async function waitUntilFinalized({ node, signal }: Stage, payments: readonly Payment[]): Promise<void> {
  const signatures = payments.flatMap(({ signature }) => signature ?? []);
  const isFinal = async () =>
    (await statusesOf(node, signatures)).every((status) => status?.confirmationStatus === 'finalized');
  while (!(await isFinal())) await sleep(POLL_MS, undefined, { signal });
}

function recordFault(
  { id, state, signature, amount }: Payment,
  payments: readonly ChainPayment[],
  answered: readonly string[],
): readonly string[] {
  const transfers = payments.filter((payment) => payment.signature === signature);
  const answers = answered.filter((key) => key === id).length;
  const isCorrect =
    state === 'served' &&
    answers === 1 &&
    transfers.length === 1 &&
    transfers[0]?.received === BigInt(amount);
  return isCorrect ? [] : [`payment ${id}: ${state}, ${transfers.length} transfers, ${answers} answers`];
}

function countFault(what: string, count: number, expected: number): readonly string[] {
  return count === expected ? [] : [`${what}: ${count} instead of ${expected}`];
}

function errorOf({ body }: Purchase): string | null {
  try {
    return (JSON.parse(body) as { error?: string }).error ?? null;
  } catch {
    return null;
  }
}

function rowOf(payment: Payment, payments: readonly ChainPayment[], kill: GatewayKill): DemoRow {
  const { id, dialect, state, asset, amount, signature } = payment;
  const transfers = payments.filter((transfer) => transfer.signature === signature);
  return {
    what: id === kill.paymentId ? `${TITLES[dialect]}, gateway killed before its answer` : TITLES[dialect],
    status: state,
    asset,
    sent: BigInt(amount),
    received: transfers.map(({ received }) => received),
    note: signature ?? '',
  };
}
