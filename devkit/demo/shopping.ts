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

export interface Purchase {
  readonly what: string;
  readonly url: string;
  readonly headers: PaymentHeaders;
  readonly status: number;
  readonly body: string;
  /** The access pass in the answer; null if it has none. */
  readonly pass: string | null;
}

export interface GatewayKill {
  /** Id of the payment that was settled but not answered when the gateway was killed. */
  readonly paymentId: string;
  readonly statuses: readonly number[];
}

/** The purchase whose gateway was killed. `last` is its last repetition. */
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
const PASS_SECONDS = 3_600;
const PASS_HEADER = 'sluice-access-pass';
const POLL_MS = 200;
/** Longer than the 45 s lease of the killed gateway; the gateway answers repeated requests for 120 s. */
const REPEAT_TIMEOUT_MS = 110_000;

export function demoRoutes(upstream: string): RoutesOf {
  return ({ seller, asset }) => ({
    payTo: seller,
    routes: [
      {
        path: PATH,
        price: { amount: UNITS, asset },
        description: 'A report',
        accessPass: { seconds: PASS_SECONDS },
        upstream,
      },
    ],
  });
}

/** Resolves when the gateway answers 402: it then has finalized all that it needs on the chain. */
export async function waitUntilSelling({ gatewayUrl }: Sales, signal: AbortSignal): Promise<void> {
  const readStatus = async () => (await fetch(gatewayUrl + PATH, { signal })).status;
  while ((await readStatus()) !== 402) await sleep(POLL_MS, undefined, { signal });
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

/** Presents the payment of a purchase again, for the same request or, with `query`, for another one. */
export function repeat(stage: Stage, { what, url, headers }: Purchase, query = ''): Promise<Purchase> {
  return request(stage, what, url + query, headers);
}

/** Requests the resource of a purchase again with its access pass alone, without a payment. */
export function presentPass(stage: Stage, { what, url, pass }: Purchase): Promise<Purchase> {
  return request(stage, what, url, pass === null ? {} : { [PASS_HEADER]: pass });
}

/**
 * Buys, kills the gateway while the upstream works on the answer, when the payment is settled, and restarts the gateway.
 *
 * @returns `survivor`, which resolves when the repeated request is answered
 */
export async function killBetweenSettlementAndAnswer(stage: Stage, sales: Sales) {
  const { stack, upstream, say, signal } = stage;
  const { url, headers } = await prepare(stage, sales, 'v2');
  const asked = upstream.holdNext();
  const interrupted = presentPayment(url, headers, signal).catch(() => null);
  const earlyAnswer = interrupted.then((response) => {
    throw new Error(`the gateway answered ${response?.status ?? 'nothing'} before it was killed`);
  });
  earlyAnswer.catch(() => undefined);
  const paymentId = await Promise.race([asked, earlyAnswer]);
  const { pid } = stack.api;
  await stack.api.kill('SIGKILL');
  say(`killed API and gateway ${pid} with SIGKILL: the payment is settled, the upstream has not answered`);
  await stack.api.start(signal);
  say(`started API and gateway ${stack.api.pid}; the buyer repeats the same payment until it is served`);
  const survivor = repeatUntilServed(stage, { url, headers }, paymentId);
  // The caller awaits `survivor` later; without this handler, an earlier rejection would end the process.
  survivor.catch(() => undefined);
  return { survivor };
}

async function repeatUntilServed(
  stage: Stage,
  { url, headers }: Pick<Purchase, 'url' | 'headers'>,
  paymentId: string,
): Promise<Survivor> {
  const end = performance.now() + REPEAT_TIMEOUT_MS;
  const statuses: number[] = [];
  for (;;) {
    const last = await request(stage, 'gateway killed before its answer', url, headers);
    statuses.push(last.status);
    if (last.status === 200 || performance.now() > end) return { last, kill: { paymentId, statuses } };
    await sleep(POLL_MS, undefined, { signal: stage.signal });
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
  const pass = response.headers.get(PASS_HEADER);
  return { what, url, headers, status: response.status, body: await response.text(), pass };
}
