import { Ajv } from 'ajv';
import { Registry } from 'prom-client';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { DomainError } from '../../src/domain/errors.ts';
import { explorerLink } from '../../src/domain/explorer.ts';
import { buildApp } from '../../src/http/app.ts';
import { authorization, EXPLORER, openService, type Service } from './service.ts';

let service: Service;
beforeAll(async () => {
  service = await openService();
});
afterAll(async () => {
  await service?.close();
});

test.each([undefined, 'Bearer', 'Basic a2V5', 'Bearer key-of-no-user', 'Bearer key-of-the-http-tests2'])(
  'the API refuses the unknown key: %s',
  async (header) => {
    const answer = await service.app.inject({
      url: '/v1/withdrawals',
      headers: header === undefined ? {} : { authorization: header },
    });
    expect(answer.statusCode).toBe(401);
    expect(answer.headers['www-authenticate']).toBe('Bearer');
    expect(answer.json()).toMatchObject({ code: 'Unauthorized' });
  },
);

test('the API refuses a key of the facilitator', async () => {
  await service.ledger.apiKeys.addFacilitatorKey('shop', 'key-of-a-shop-at-the-facilitator');
  const headers = { authorization: 'Bearer key-of-a-shop-at-the-facilitator' };
  expect((await service.app.inject({ url: '/v1/withdrawals', headers })).statusCode).toBe(401);
});

test('the health route needs no key and reports each service', async () => {
  const health = async () => {
    const answer = await service.app.inject({ url: '/healthz' });
    return [answer.statusCode, answer.json()];
  };
  // On a stopped machine neither of the two answers in time.
  await expect
    .poll(health, { timeout: 20_000 })
    .toEqual([200, { status: 'ok', database: true, temporal: true }]);
});

test('an unreachable database is a 503 without its error text or a stack', async () => {
  const away = Object.assign(new Error('connect ECONNREFUSED secret-host:5432'), { code: 'ECONNREFUSED' });
  const refuse = async (): Promise<never> => {
    throw away;
  };
  const ledger = { ...service.ledger, apiKeys: { add: refuse, nameOf: refuse } as never };
  const app = await buildApp({ ledger, temporal: service.temporal, explorer: EXPLORER });
  const answer = await app.inject({ url: '/v1/withdrawals', headers: { authorization } });
  await app.close();
  expect([answer.statusCode, answer.json().code, answer.headers['retry-after']]).toEqual([
    503,
    'Unavailable',
    '1',
  ]);
  expect(answer.body).not.toMatch(/secret-host|at .*\.ts/);
});

test('an unexpected failure is a 500, and only the log has its message', async () => {
  const fail = async (): Promise<never> => {
    throw new Error('secret detail');
  };
  const ledger = { ...service.ledger, apiKeys: { add: fail, nameOf: fail } as never };
  const app = await buildApp({ ledger, temporal: service.temporal, explorer: EXPLORER });
  const answer = await app.inject({ url: '/v1/withdrawals', headers: { authorization } });
  await app.close();
  expect([answer.statusCode, answer.json().code]).toEqual([500, 'Internal']);
  expect(answer.body).not.toContain('secret detail');
});

test('a transition that the current state does not allow is a 409 with a problem document', async () => {
  const refuse = async (): Promise<never> => {
    throw new DomainError(
      'IllegalTransition',
      'settlement w-1 cannot change to held from its current status',
    );
  };
  const ledger = { ...service.ledger, withdrawals: { get: refuse } as never };
  const app = await buildApp({ ledger, temporal: service.temporal, explorer: EXPLORER });
  const answer = await app.inject({
    method: 'POST',
    url: '/v1/withdrawals/w-1/cancel',
    headers: { authorization },
  });
  await app.close();
  expect([answer.statusCode, answer.json().code]).toEqual([409, 'IllegalTransition']);
  expect(answer.headers['content-type']).toContain('application/problem+json');
});

test.each([
  [{ url: '/v2/withdrawals' }, 404, 'NotFound'],
  [{ url: '/v1/withdrawals/none' }, 404, 'NotFound'],
  [{ method: 'POST' as const, url: '/v1/withdrawals/none/cancel' }, 404, 'NotFound'],
  [{ method: 'POST' as const, url: '/v1/withdrawals/none/confirm' }, 404, 'NotFound'],
  [{ url: '/v1/withdrawals/a%00b' }, 400, 'InvalidRequest'],
  [json('{"id":'), 400, 'InvalidRequest'],
  [json(`"${'x'.repeat(70_000)}"`), 413, 'InvalidRequest'],
])('every refusal is a problem document: %o', async (call, status, code) => {
  const answer = await service.app.inject({
    ...call,
    headers: { authorization, ...('headers' in call ? call.headers : {}) },
  });
  expect(answer.headers['content-type']).toContain('application/problem+json');
  expect(answer.json()).toMatchObject({ status, code, type: `urn:sluice:problem:${code}` });
  expect(answer.statusCode).toBe(status);
});

function json(payload: string, type = 'application/json') {
  return {
    method: 'POST' as const,
    url: '/v1/withdrawals',
    payload,
    headers: { 'content-type': type },
  };
}

test.each([
  [
    'text/plain',
    415,
    /^Unsupported Media Type.*: send JSON with the header Content-Type: application\/json$/,
  ],
  ['application/x-www-form-urlencoded', 415, /: send JSON with/],
])('the API refuses a body of %s with a hint', async (type, status, detail) => {
  const call = json('{}', type);
  const answer = await service.app.inject({ ...call, headers: { authorization, ...call.headers } });
  expect(answer.json()).toMatchObject({ status, detail: expect.stringMatching(detail) });
});

test.each([
  ['{"amount":"1","amount":"2"}', 'the key amount occurs twice in the body, with different values'],
  ['{"__proto__":{"amount":"1"}}', "Body is not valid JSON but content-type is set to 'application/json'"],
  ['[]', 'a withdrawal must be one object with id, asset, amount, destination; this is an array'],
  ['null', 'a withdrawal must be one object with id, asset, amount, destination; this is nothing'],
  ['', "Body cannot be empty when content-type is set to 'application/json'"],
])(
  'the API refuses a body that is not one plain object with a clear message: %s',
  async (payload, detail) => {
    const call = json(payload);
    const answer = await service.app.inject({ ...call, headers: { authorization, ...call.headers } });
    expect(answer.json()).toMatchObject({ status: 400, code: 'InvalidRequest', detail });
  },
);

test('the OpenAPI document needs no key, has every route, and resolves every reference', async () => {
  const document = (await service.app.inject({ url: '/openapi.json' })).json();
  expect(Object.keys(document.paths).sort()).toEqual([
    '/healthz',
    '/v1/alerts',
    '/v1/alerts/close',
    '/v1/alerts/seen',
    '/v1/assets',
    '/v1/assets/{mint}',
    '/v1/backfills',
    '/v1/backfills/{id}',
    '/v1/deposit-addresses',
    '/v1/deposit-addresses/import',
    '/v1/deposit-addresses/{address}',
    '/v1/deposit-addresses/{address}/assets/{mint}',
    '/v1/deposits',
    '/v1/deposits/{id}',
    '/v1/deposits/{id}/reject',
    '/v1/hot-wallets',
    '/v1/pause',
    '/v1/payments',
    '/v1/payments/revenue',
    '/v1/payments/{id}',
    '/v1/payments/{id}/revoke',
    '/v1/reconciliation',
    '/v1/resume',
    '/v1/scan',
    '/v1/scan/close-gap',
    '/v1/scan/pause',
    '/v1/scan/resume',
    '/v1/settlements',
    '/v1/settlements/explain',
    '/v1/settlements/paid',
    '/v1/webhooks',
    '/v1/webhooks/{id}',
    '/v1/webhooks/{id}/deliveries',
    '/v1/webhooks/{id}/enable',
    '/v1/webhooks/{id}/replay',
    '/v1/webhooks/{id}/rotate',
    '/v1/withdrawals',
    '/v1/withdrawals/{id}',
    '/v1/withdrawals/{id}/cancel',
    '/v1/withdrawals/{id}/confirm',
    '/v1/withdrawals/{id}/explain',
    '/v1/withdrawals/{id}/paid',
    '/v1/x402/routes',
    '/v1/x402/routes/versions',
  ]);
  const references = [...JSON.stringify(document).matchAll(/"\$ref":"#\/components\/schemas\/([^"]+)"/g)];
  expect(references.length).toBeGreaterThan(5);
  for (const [, name] of references) expect(document.components.schemas).toHaveProperty(String(name));
  const ajv = new Ajv({ strict: false, validateFormats: false });
  for (const [name, schema] of Object.entries(document.components.schemas)) {
    ajv.addSchema(schema as object, `#/components/schemas/${name}`);
  }
  const created = await service.app.inject({
    method: 'POST',
    url: '/v1/withdrawals',
    headers: { authorization },
    payload: {
      id: 'documented',
      asset: 'SOL',
      amount: '1',
      destination: '9xQeWvG816bUx9EPjHmaT23yvVM2ZWbrrpZb9PusVFin',
    },
  });
  const validate = ajv.getSchema('#/components/schemas/Withdrawal');
  expect(validate?.(created.json()), JSON.stringify(validate?.errors)).toBe(true);
});

test('the API counts and times requests by route, not by path', async () => {
  const metrics = new Registry();
  const app = await buildApp({
    ledger: service.ledger,
    temporal: service.temporal,
    explorer: EXPLORER,
    metrics,
  });
  for (const id of ['none', 'no-such-id'])
    await app.inject({ url: `/v1/withdrawals/${id}`, headers: { authorization } });
  await app.close();
  const page = await metrics.metrics();
  const route = 'method="GET",route="/v1/withdrawals/:id"';
  expect(page).toContain(`sluice_http_requests_total{${route},status="404"} 2`);
  expect(page).toContain(`sluice_http_request_seconds_bucket{le="+Inf",${route}} 2`);
});

test.each([
  ['mainnet-beta', 'https://explorer.example/tx/s'],
  ['devnet', 'https://explorer.example/tx/s?cluster=devnet'],
  ['localnet', 'https://explorer.example/tx/s?cluster=custom&customUrl=http%3A%2F%2F127.0.0.1%3A8899'],
])('an explorer link leads to %s', (cluster, link) => {
  expect(
    explorerLink('s', {
      explorerUrl: 'https://explorer.example/',
      cluster,
      rpcUrls: ['http://127.0.0.1:8899'],
    }),
  ).toBe(link);
});

test('an explorer link never contains the address of another node, since providers put keys there', () => {
  const rpcUrls = ['https://node.example/?api-key=secret'];
  const link = explorerLink('s', { explorerUrl: 'https://explorer.example', cluster: 'localnet', rpcUrls });
  expect(link).toBe('https://explorer.example/tx/s?cluster=custom');
});
