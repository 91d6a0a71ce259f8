import { Ajv } from 'ajv';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { authorization, openService, type Service } from './service.ts';

interface Operation {
  readonly operationId?: string;
  readonly security?: readonly unknown[];
  readonly requestBody?: { readonly content: Readonly<Record<string, { readonly schema: object }>> };
  readonly responses: Readonly<Record<string, { readonly content?: object }>>;
}
type Paths = Readonly<Record<string, Readonly<Record<string, Operation>>>>;

let service: Service;
let paths: Paths;
let schemas: Readonly<Record<string, object>>;
beforeAll(async () => {
  service = await openService();
  const document = (await service.app.inject({ url: '/openapi.json' })).json();
  paths = document.paths;
  schemas = document.components.schemas;
});
afterAll(() => service?.close());

const METHODS = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'TRACE', 'QUERY', 'PROPFIND'];
const PROBLEM = 'application/problem+json';

/** Every operation: its method, its path with parameters filled in, and its entry in the document. */
function operations(): readonly { method: string; url: string; name: string; described: Operation }[] {
  return Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, described]) => ({
      method: method.toUpperCase(),
      url: path.replaceAll(/\{\w+\}/g, 'x'),
      name: `${method} ${path}`,
      described,
    })),
  );
}

async function call(method: string, url: string, rest: object = {}) {
  return service.app.inject({ method: method as 'GET', url, headers: { authorization }, ...rest });
}

test('every operation has a unique id, a verb and a noun', () => {
  const ids = operations().map(({ described }) => described.operationId);
  expect(ids.length).toBeGreaterThan(40);
  for (const id of ids) expect(id).toMatch(/^[a-z]+([A-Z][a-z]+)+$/);
  expect(new Set(ids).size).toBe(ids.length);
});

test('every error of every operation is documented as a problem document', async () => {
  const unlike: string[] = [];
  for (const { method, url, name, described } of operations()) {
    for (const status of ['4XX', '5XX'])
      if (!(PROBLEM in (described.responses[status]?.content ?? {}))) unlike.push(`${name} ${status}`);
    const withoutKey = await call(method, url, { headers: {} });
    const badQuery = await call(
      method,
      `${url}?limit=none&nothing=1`,
      method === 'GET' ? {} : { payload: {} },
    );
    const badType = await call(method, url, {
      payload: 'text',
      headers: { authorization, 'content-type': 'text/plain' },
    });
    for (const { statusCode, headers } of [withoutKey, badQuery, badType])
      if (statusCode >= 400 && headers['content-type'] !== `${PROBLEM}; charset=utf-8`)
        unlike.push(`${name} ${statusCode} ${String(headers['content-type'])}`);
    if (described.security === undefined) expect([name, withoutKey.statusCode]).toEqual([name, 401]);
  }
  expect(unlike).toEqual([]);
});

test('a known path refuses every other method, and lists its own methods', async () => {
  for (const [path, methods] of Object.entries(paths)) {
    const url = path.replaceAll(/\{\w+\}/g, 'x');
    const documented = Object.keys(methods).map((method) => method.toUpperCase());
    for (const method of METHODS.filter((each) => !documented.includes(each))) {
      const answer = await call(method, url, method === 'TRACE' ? {} : { payload: {} });
      expect([method, path, answer.statusCode]).toEqual([method, path, 405]);
      expect(answer.headers['content-type']).toContain(PROBLEM);
      expect(answer.json()).toMatchObject({ code: 'MethodNotAllowed' });
      const allowed = String(answer.headers.allow).split(', ');
      expect(allowed.filter((each) => each !== 'HEAD')).toEqual(documented.toSorted());
    }
  }
});

test('no request field is marked read-only, since a client would omit it', () => {
  expect(JSON.stringify([paths, schemas])).not.toContain('readOnly');
});

test('an unknown path is 404 for every method', async () => {
  for (const method of METHODS) expect((await call(method, '/v1/nothing')).statusCode).toBe(404);
});

const ADDRESS = '9xQeWvG816bUx9EPjHmaT23yvVM2ZWbrrpZb9PusVFin';
const TERMS = { id: 'formed', asset: 'SOL', amount: '1', destination: ADDRESS };
/** As many items and as long texts as the schema allows. */
const MANY = Array.from({ length: 10_000 }, (_, nth) => `${10n ** 17n + BigInt(nth)}`);
const SEEN = { kind: 'maybe_paid', reason: 'paid' };

test.each([
  ['post', '/v1/withdrawals', { ...TERMS, amount: '18446744073709551616' }],
  ['post', '/v1/withdrawals', { ...TERMS, amount: '0' }],
  ['post', '/v1/withdrawals', { ...TERMS, asset: 'USDC' }],
  ['post', '/v1/withdrawals', { ...TERMS, destination: 'not-an-address' }],
  ['post', '/v1/withdrawals', { ...TERMS, memo: '' }],
  ['post', '/v1/withdrawals', { ...TERMS, memo: 'a\0b' }],
  ['post', '/v1/withdrawals', { ...TERMS, memo: 'x'.repeat(201) }],
  ['post', '/v1/pause', { reason: 'a\0b' }],
  ['post', '/v1/pause', { reason: ' ' }],
  ['post', '/v1/pause', { reason: 'late', scope: 'kind/' }],
  ['post', '/v1/alerts/close', { ...SEEN, subject: 'a\0b' }],
  ['post', '/v1/alerts/close', { ...SEEN, subject: '' }],
  ['put', '/v1/assets/{mint}', { minimumDeposit: '1.5' }],
  ['put', '/v1/assets/{mint}', { minimumDeposit: '18446744073709551616' }],
  ['post', '/v1/webhooks', { url: 'ftp://a.example/', events: ['*'] }],
  ['post', '/v1/webhooks', { url: 'https://a.example/', events: ['*', '*'] }],
  ['post', '/v1/webhooks', { url: 'https://a.example/' }],
])('the schema refuses a body whose form the API refuses: %s %s %j', async (method, path, payload) => {
  const answer = await call(method.toUpperCase(), path.replace('{mint}', 'SOL'), { payload });
  expect([answer.statusCode, answer.json().code]).toEqual([400, 'InvalidRequest']);
  expect(schemaOf(method, path)(payload)).toBe(false);
});

test.each([
  ['post', '/v1/withdrawals', { ...TERMS, amount: '18446744073709551615', memo: 'order 7' }],
  ['post', '/v1/webhooks', { url: 'https://a.example:8443/hooks?a=1', events: ['withdrawal.*'] }],
  ['post', '/v1/pause', { reason: ' two\nlines ', scope: `wallet/${ADDRESS}` }],
  ['post', '/v1/alerts/seen', { seen: MANY, reason: 'reviewed' }],
  ['post', '/v1/resume', { seen: MANY, reason: 'reviewed' }],
])('the schema accepts a body that the API accepts: %s %s', async (method, path, payload) => {
  expect((await call(method.toUpperCase(), path, { payload })).statusCode).toBeLessThan(300);
  expect(schemaOf(method, path)(payload)).toBe(true);
});

/** Compiles the schema of a request body from the document. */
function schemaOf(method: string, path: string): (body: object) => boolean {
  const ajv = new Ajv({ strict: false, validateFormats: false });
  for (const [name, schema] of Object.entries(schemas)) ajv.addSchema(schema, `#/components/schemas/${name}`);
  const { schema } = paths[path]?.[method]?.requestBody?.content['application/json'] ?? {};
  expect(schema).toBeDefined();
  const judge = ajv.compile(schema ?? {});
  return (body) => judge(body) === true;
}
