import { Runtime } from '@temporalio/worker';
import { Registry } from 'prom-client';
import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import { freePort } from '../../../devkit/localstack/ports.ts';
import { createLogger } from '../../../src/platform/logging.ts';
import { installRuntime } from '../../../src/platform/runtime.ts';
import { Customer } from './customer.ts';
import { Shop } from './shop.ts';

const registry = new Registry();
let workerPage: string;
let shop: Shop;
let customer: Customer;

beforeAll(async () => {
  const address = `127.0.0.1:${await freePort()}`;
  installRuntime(createLogger({ level: 'silent', name: 'test' }), address);
  workerPage = `http://${address}/metrics`;
  const routes = (upstream: string) => [
    { path: '/item/:id', price: '0.001', accessPass: { seconds: 3_600 }, upstream },
    { path: '/about', free: true, answer: { body: 'about' } },
  ];
  const env = { SLUICE_X402_DIRECT_CLIENTS: 'true', SLUICE_X402_PAYMENTS_PER_SECOND: '1000' };
  shop = await Shop.open(routes, env, undefined, 'x402', { metrics: registry });
  await shop.opened('/item/1');
  customer = new Customer((await shop.buyer()).secretKey);
});
afterAll(async () => {
  await shop?.close();
  await Runtime.instance().shutdown();
});

/** The values of a counter of the gateway, by its labels. */
async function counts(name: string): Promise<Readonly<Record<string, number>>> {
  const page = await registry.metrics();
  const lines = page.matchAll(new RegExp(`^${name}\\{(.*)\\} (\\d+)$`, 'gm'));
  return Object.fromEntries([...lines].map(([, labels = '', value]) => [labels, Number(value)]));
}

/** Observations of each stage on a page of metrics. */
function stagesOf(page: string): Readonly<Record<string, number>> {
  const lines = page.matchAll(/^sluice_x402_stage_seconds_count\{(.*)\} (\d+)$/gm);
  return Object.fromEntries(
    [...lines].map(([, labels = '', count]) => [/stage="(\w+)"/.exec(labels)?.[1] ?? '', Number(count)]),
  );
}

const label = (route: string, outcome: string) => `route="GET ${route}",outcome="${outcome}"`;

it('the gateway counts every answer by route and outcome, and times the stages of a sale; the worker times its own', async () => {
  const before = await counts('sluice_x402_answers_total');
  const url = `${shop.url}/item/2`;
  const paid = await customer.pays(url);
  const served = await fetch(url, { headers: paid });
  expect(served.status).toBe(200);
  const pass = { 'sluice-access-pass': served.headers.get('sluice-access-pass') ?? '' };
  expect((await fetch(url, { headers: pass })).status).toBe(200);
  shop.upstream = () => ({ status: 302, body: '', headers: { location: 'http://elsewhere.example/' } });
  expect((await fetch(url, { headers: pass })).status).toBe(502);
  const poor = new Customer((await shop.buyer(1n)).secretKey);
  expect((await fetch(url, { headers: await poor.pays(url) })).status).toBe(402);
  expect((await fetch(url, { headers: { 'payment-signature': 'no payment' } })).status).toBe(402);
  shop.upstream = () => ({ status: 500, body: 'broken' });
  expect((await fetch(url, { headers: await customer.pays(url) })).status).toBe(502);
  await fetch(`${shop.url}/about`);
  await fetch(`${shop.url}/nothing`);

  const after = await counts('sluice_x402_answers_total');
  const asked = label('/item/:id', 'asked');
  expect(after).toEqual({
    [asked]: (before[asked] ?? 0) + 3,
    [label('/item/:id', 'closed')]: before[label('/item/:id', 'closed')],
    [label('/item/:id', 'served')]: 1,
    [label('/item/:id', 'refused')]: 2,
    [label('/item/:id', 'owed')]: 1,
    [label('/item/:id', 'access_pass')]: 1,
    [label('/item/:id', 'unavailable')]: 1,
    [label('/about', 'free')]: 1,
    'route="none",outcome="not_found"': 1,
  });
  expect(await counts('sluice_x402_refusals_total')).toEqual({
    'reason="invalid_exact_svm_transaction_simulation_failed"': 1,
    'reason="undecodable"': 1,
  });
  // The end of an answer is observed after the buyer has it.
  await vi.waitFor(async () =>
    expect(stagesOf(await registry.metrics())).toEqual({ checks: 3, simulation: 3, upstream: 4, answer: 1 }),
  );
  const worker = stagesOf(await (await fetch(workerPage)).text());
  expect(worker).toMatchObject({ record: 2, sign: 2, send: 2, confirmed: 2 });
}, 60_000);
