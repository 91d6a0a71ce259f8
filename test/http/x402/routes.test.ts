import { afterAll, beforeAll, expect, it } from 'vitest';
import { routesOf } from '../../../src/x402/routes/read-routes.ts';
import { NETWORKS } from '../../../src/x402/terms.ts';
import { authorization, openService, type Service } from '../service.ts';

const CONTEXT = { network: NETWORKS.devnet, facilitatorPath: '/facilitator' };
const SELLER = '9B5XszUGdMaxCZ7uSQhPzdks5ZQSmWxrmzCSvtJ6Ns6g';
const reason = 'a test';
let service: Service;

interface PutAnswer {
  readonly version: string;
  readonly faults?: readonly string[];
}

beforeAll(async () => {
  service = await openService({ checkRoutes: (content) => void routesOf(content, CONTEXT, 'routes') });
});
afterAll(() => service?.close());

function routesAt(price: string, upstreamHeaders: object = {}) {
  const upstream = 'http://127.0.0.1:9000';
  return { payTo: SELLER, routes: [{ path: '/weather', price, upstream, upstreamHeaders }] };
}

async function ask(method: 'GET' | 'PUT', path: string, payload?: object) {
  const url = `/v1/x402/routes${path}`;
  return service.app.inject({ method, url, headers: { authorization }, ...(payload && { payload }) });
}

async function put(expectedVersion: string, routes: object) {
  const answer = await ask('PUT', '', { expectedVersion, reason, routes });
  return { status: answer.statusCode, ...answer.json<PutAnswer>() };
}

it('routes are replaced only after the version that their author has read, and once for each request', async () => {
  expect((await ask('GET', '')).statusCode).toBe(404);
  expect(await put('0', routesAt('0.001'))).toMatchObject({
    status: 200,
    version: '1',
    source: 'api',
    actor: 'tests',
    reason,
  });
  expect(await put('0', routesAt('0.001'))).toMatchObject({ status: 200, version: '1' });
  expect(await put('0', routesAt('0.002'))).toMatchObject({
    status: 409,
    code: 'VersionConflict',
    version: '1',
  });
  expect(await put('1', routesAt('0.001'))).toMatchObject({ status: 200, version: '1' });
  expect(await put('1', routesAt('0.002'))).toMatchObject({ status: 200, version: '2' });
  expect((await ask('GET', '')).json()).toMatchObject({ version: '2', routes: routesAt('0.002') });
  expect((await ask('GET', '?version=1')).json()).toMatchObject({ version: '1', routes: routesAt('0.001') });
  expect((await ask('GET', '?version=3')).statusCode).toBe(404);
  const { versions } = (await ask('GET', '/versions')).json<{ versions: readonly { version: string }[] }>();
  expect(versions.map(({ version }) => version)).toEqual(['2', '1']);
  expect(versions[0]).not.toHaveProperty('routes');
});

it('of several changes to one version, one is stored', async () => {
  const { version } = (await ask('GET', '')).json<{ version: string }>();
  const prices = ['0.01', '0.02', '0.03', '0.04', '0.05'];
  const answers = await Promise.all(prices.map((price) => put(version, routesAt(price))));
  expect(answers.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([200, 409, 409, 409, 409]);
});

it('routes with a fault are refused with each place, and change nothing', async () => {
  const before = (await ask('GET', '')).json<{ version: string }>();
  const faulty = {
    ...routesAt('0.001'),
    routes: [
      { path: '/weather', price: 1 },
      { path: '/b', free: true },
    ],
  };
  const refused = await put(before.version, faulty);
  expect(refused).toMatchObject({ status: 400, code: 'InvalidRequest' });
  expect(refused.faults).toEqual(
    expect.arrayContaining([
      expect.stringMatching(/^routes\[0\]\.price: /),
      expect.stringMatching(/^routes\[1\]: /),
    ]),
  );
  expect((await ask('GET', '')).json()).toEqual(before);
});

it('texts of upstream headers are not returned, and their place cannot be put back by mistake', async () => {
  const { version } = (await ask('GET', '')).json<{ version: string }>();
  const headers = { authorization: { env: 'UPSTREAM_TOKEN' }, 'x-plan': 'a secret' };
  const stored = await put(version, routesAt('0.003', headers));
  expect(stored).toMatchObject({ status: 200 });
  const answer = await ask('GET', '');
  expect(answer.body).not.toContain('a secret');
  const { routes } = answer.json<{ routes: { routes: readonly { upstreamHeaders: object }[] } }>();
  expect(routes.routes[0]?.upstreamHeaders).toEqual({ ...headers, 'x-plan': { hidden: true } });
  const refused = await put(stored.version, routes);
  expect(refused).toMatchObject({ status: 400 });
  expect(refused.faults).toEqual([
    expect.stringMatching(/^routes\[0\]\.upstreamHeaders\.x-plan: must be a text/),
  ]);
});
