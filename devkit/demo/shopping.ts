import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import {
  FORMS,
  fetchTerms,
  type PaymentForm,
  type PaymentHeaders,
  pay,
  presentPayment,
} from '../localstack/buyer.ts';
import type { RoutesOf, Sales } from '../localstack/sales.ts';
import type { Stage } from './stage.ts';

/** A payment of the demo's buyer, and what its request was answered. */
export interface Purchase {
  readonly what: string;
  readonly url: string;
  readonly headers: PaymentHeaders;
  readonly status: number;
  readonly body: string;
}

/** What was seen around the death of the gateway. */
export interface GatewayKill {
  /** Id of the payment that was settled, and had no answer. */
  readonly paymentId: string;
  /** What the repeated request was answered, in this order. */
  readonly statuses: readonly number[];
}

/** A purchase that lost its gateway. `last`: the answer of its last repetition. */
export interface Survivor {
  readonly last: Purchase;
  readonly kill: GatewayKill;
}

const PATH = '/report';
const UNITS = '1000';
export const TITLES: Readonly<Record<PaymentForm, string>> = {
  v2: 'x402 version 2',
  v1: 'x402 version 1',
  example: 'exchange interface, sent by the gateway',
  submitted: 'exchange interface, sent by the buyer',
};
const LOOK_MS = 200;
/** The lease of a dead gateway lasts 45 s; an address may repeat for 120 s. */
const PATIENCE_MS = 110_000;

/** One route that is sold, in front of the demo's own upstream. */
export function demoRoutes(upstream: string): RoutesOf {
  return ({ seller, asset }) => ({
    payTo: seller,
    routes: [{ path: PATH, price: { amount: UNITS, asset }, description: 'A report', upstream }],
  });
}

/** Resolves when the gateway sells: what it needs on the chain is final then. */
export async function whenSold({ gatewayUrl }: Sales, signal: AbortSignal): Promise<void> {
  const status = async () => (await fetch(gatewayUrl + PATH, { signal })).status;
  while ((await status()) !== 402) await sleep(LOOK_MS, undefined, { signal });
}

export async function buyInAllForms(stage: Stage, sales: Sales): Promise<readonly Purchase[]> {
  const bought: Purchase[] = [];
  for (const form of FORMS) {
    const payment = await prepare(stage, sales, form);
    const purchase = await request(stage, TITLES[form], payment.url, payment.headers);
    stage.say(`bought, ${purchase.what}: ${purchase.status}`);
    bought.push(purchase);
  }
  return bought;
}

/** Shows the payment of a purchase again, for the same request or for another one. */
export function repeat(stage: Stage, { what, url, headers }: Purchase, query = ''): Promise<Purchase> {
  return request(stage, what, url + query, headers);
}

/**
 * Buys, and kills the gateway while the upstream works: the payment is settled by then. Never leaves without a gateway.
 *
 * @returns what settles when the repeated request is answered
 */
export async function killBetweenSettlementAndAnswer(stage: Stage, sales: Sales) {
  const { stack, upstream, say, signal } = stage;
  const { url, headers } = await prepare(stage, sales, 'v2');
  const asked = upstream.holdNext();
  const lost = presentPayment(url, headers, signal).catch(() => null);
  const answeredBefore = lost.then((response) => {
    throw new Error(`the gateway answered ${response?.status ?? 'nothing'} before it was killed`);
  });
  answeredBefore.catch(() => undefined);
  const paymentId = await Promise.race([asked, answeredBefore]);
  const { pid } = stack.api;
  await stack.api.kill('SIGKILL');
  say(`killed API and gateway ${pid} with SIGKILL: the payment is settled, the upstream has not answered`);
  await stack.api.start(signal);
  say(`started API and gateway ${stack.api.pid}; the buyer repeats the same payment until it is served`);
  const survivor = repeatUntilServed(stage, { url, headers }, paymentId);
  // It is awaited later: what it rejects with is not unhandled until then.
  survivor.catch(() => undefined);
  return { survivor };
}

async function repeatUntilServed(
  stage: Stage,
  { url, headers }: Pick<Purchase, 'url' | 'headers'>,
  paymentId: string,
): Promise<Survivor> {
  const end = performance.now() + PATIENCE_MS;
  const statuses: number[] = [];
  for (;;) {
    const last = await request(stage, 'gateway killed before its answer', url, headers);
    statuses.push(last.status);
    if (last.status === 200 || performance.now() > end) return { last, kill: { paymentId, statuses } };
    await sleep(LOOK_MS, undefined, { signal: stage.signal });
  }
}

async function prepare({ node, signal }: Stage, { gatewayUrl, buyer }: Sales, form: PaymentForm) {
  const url = `${gatewayUrl}${PATH}`;
  const key = Uint8Array.from(JSON.parse(readFileSync(buyer.path, 'utf8')) as number[]);
  return { url, headers: await pay(form, await fetchTerms(url, signal), key, node) };
}

async function request(
  { signal }: Stage,
  what: string,
  url: string,
  headers: PaymentHeaders,
): Promise<Purchase> {
  const response = await presentPayment(url, headers, signal);
  return { what, url, headers, status: response.status, body: await response.text() };
}
