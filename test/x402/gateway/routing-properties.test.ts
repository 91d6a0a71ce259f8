import { once } from 'node:events';
import { request } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Customer } from './customer.ts';
import { Shop } from './shop.ts';

/** More than the gateway stores of a request. */
const LARGE = 'x'.repeat(3 * 1024 * 1024);

let shop: Shop;
beforeAll(async () => {
  shop = await Shop.open((upstream) => [
    { path: '/weather', price: '0.001', upstream },
    { path: '/order', method: 'POST', price: '0.001', upstream },
    { path: '/about', free: true, upstream },
    { path: '/note', method: 'POST', free: true, upstream },
    { path: '/gone', method: 'POST', free: true, upstream: 'http://127.0.0.1:9' },
    { path: '/files/*', free: true, widerThanPriced: true, upstream },
    { path: '/files/secret', price: '0.001', upstream },
  ]);
  await shop.opened('/weather');
});
afterAll(() => shop?.close());

interface Raw {
  readonly method?: string;
  readonly path: string;
  readonly headers?: Record<string, string>;
  readonly body?: string;
}

/** The status; 0 where the server closes the connection. */
function raw({ method = 'GET', path, headers = {}, body = '' }: Raw): Promise<number> {
  const { port } = new URL(shop.url);
  // Node.js sends the body of a DELETE without a length, so the server would read it as the next request of the connection.
  const length =
    body === '' || 'transfer-encoding' in headers ? {} : { 'content-length': Buffer.byteLength(body) };
  const sized = { ...length, ...headers };
  return new Promise((resolve) => {
    const sent = request({ host: '127.0.0.1', port, method, path, headers: sized }, (response) => {
      response.resume();
      resolve(response.statusCode ?? 0);
    });
    sent.on('error', () => resolve(0));
    sent.end(body);
  });
}

describe('an unpaid request reaches the upstream of no priced route', () => {
  it.each([
    '//weather',
    '/./weather',
    '/x/../weather',
    '/weather/',
    '/Weather',
    '/%77eather',
    '/weather%2f',
    '/weather;a=1',
    '/weather%00',
    '/files/%73ecret',
    '/files/SECRET',
    '/files/secret/',
    '/files/./secret',
    '/files/x/../secret',
    '/files//secret',
    '/files\\secret',
    'http://upstream/weather',
    '*',
  ])('by the target %s', async (path) => {
    shop.asked.length = 0;
    const status = await raw({ path });
    expect(status === 400 || status === 404 || status === 402).toBe(true);
    expect(shop.asked).toEqual([]);
  });

  it.each(['HEAD', 'OPTIONS', 'POST', 'PUT', 'DELETE', 'PATCH', 'TRACE', 'PROPFIND'])(
    'by %s',
    async (method) => {
      shop.asked.length = 0;
      await raw({ method, path: '/weather' });
      expect(shop.asked).toEqual([]);
    },
  );

  it.each([
    { 'x-http-method-override': 'GET' },
    { range: 'bytes=0-10' },
    { upgrade: 'websocket', connection: 'upgrade' },
    { 'x-sluice-payment': 'mine' },
    { 'x-original-url': '/about' },
  ])('with the headers %j', async (headers) => {
    shop.asked.length = 0;
    expect(await raw({ path: '/weather', headers: headers as Record<string, string> })).toBe(402);
    expect(shop.asked).toEqual([]);
  });

  it('as a preflight, which the gateway answers itself', async () => {
    const headers = { origin: 'https://page.example', 'access-control-request-headers': 'payment-signature' };
    const response = await fetch(`${shop.url}/weather`, { method: 'OPTIONS', headers });
    expect([response.status, response.headers.get('access-control-allow-origin')]).toEqual([204, '*']);
    expect(response.headers.get('access-control-allow-headers')).toBe('payment-signature');
  });
});

describe('a request to the upstream of a free route', () => {
  it('has no payment and none of the headers that only the gateway may set', async () => {
    shop.asked.length = 0;
    const headers = {
      'x-payment': 'a',
      'payment-signature': 'b',
      'x-sluice-payment': 'c',
      accept: 'text/html',
    };
    expect(await raw({ path: '/about', headers })).toBe(200);
    const [asked] = shop.asked;
    expect(Object.keys(asked?.headers ?? {})).not.toEqual(
      expect.arrayContaining([expect.stringMatching(/payment|x-sluice/)]),
    );
    expect(asked?.headers.accept).toBe('text/html');
  });
});

describe('the body of a free request', () => {
  it.each(['application/json', 'application/x-www-form-urlencoded', 'text/plain'])(
    'passes unchanged: %s',
    async (type) => {
      shop.asked.length = 0;
      const body = type === 'application/json' ? '{"a": 1}' : 'a=b';
      expect(await raw({ method: 'POST', path: '/note', headers: { 'content-type': type }, body })).toBe(200);
      expect(shop.asked).toMatchObject([{ method: 'POST', body }]);
      expect(shop.asked[0]?.headers['content-type']).toBe(type);
    },
  );

  it.each([
    ['its length', { 'content-length': String(LARGE.length) }],
    ['chunks', { 'transfer-encoding': 'chunked' }],
  ])('passes with %s, even above the body limit of a priced request', async (_how, length) => {
    shop.asked.length = 0;
    const headers = { 'content-type': 'text/csv; charset=latin1', ...length };
    expect(await raw({ method: 'POST', path: '/note', headers, body: LARGE })).toBe(200);
    expect(shop.asked).toMatchObject([{ headers }]);
    expect(shop.asked[0]?.body === LARGE).toBe(true);
  });

  it('reaches the upstream while the client is still sending it', async () => {
    let sentAll = false;
    shop.arrives = (asked) => {
      expect(asked).toBe('/note');
      expect(sentAll).toBe(false);
      sentAll = true;
      sent.end('the end');
    };
    const { port } = new URL(shop.url);
    const sent = request({ host: '127.0.0.1', port, method: 'POST', path: '/note' });
    const answered = once(sent, 'response');
    sent.write('the beginning, ');
    await answered;
    shop.arrives = null;
    expect(sentAll).toBe(true);
    expect(shop.asked.at(-1)?.body).toBe('the beginning, the end');
  });

  it.each(['/note', '/order', '/gone'])('can end early: %s', async (path) => {
    const { port } = new URL(shop.url);
    const sent = request({ host: '127.0.0.1', port, method: 'POST', path });
    sent.on('error', () => undefined).write('the beginning');
    await sleep(100);
    sent.destroy();
    await sleep(100);
    expect(await raw({ path: '/about' })).toBe(200);
  });

  it('gets an answer where the upstream does not read it', async () => {
    expect(await raw({ method: 'POST', path: '/gone', body: LARGE })).toBeGreaterThanOrEqual(500);
  });
});

describe('any request', () => {
  it('gets an answer without a failure of the gateway', async () => {
    const any = fc.record({
      method: fc.constantFrom('GET', 'POST', 'PUT', 'DELETE'),
      path: fc.constantFrom('/weather', '/files/secret', '/nothing'),
      name: fc.constantFrom('x-payment', 'payment-signature'),
      json: fc.oneof(
        fc.json({ maxDepth: 6 }),
        fc.constant(
          '{"__proto__":{"x402Version":1},"x402Version":1,"scheme":"exact","network":"solana-devnet"}',
        ),
        fc.constant(`${'{"a":'.repeat(200)}1${'}'.repeat(200)}`),
      ),
      body: fc.string({ maxLength: 200 }),
    });
    await fc.assert(
      fc.asyncProperty(any, async ({ method, path, name, json, body }) => {
        const headers = { [name]: Buffer.from(json).toString('base64').slice(0, 8_000) };
        const status = await raw({ method, path, headers, body: method === 'GET' ? '' : body });
        expect(status).toBeGreaterThanOrEqual(400);
        expect(status).toBeLessThan(500);
      }),
      { numRuns: 200 },
    );
  });

  it('with a payment that differs anywhere is refused, and settles nothing', async () => {
    const buyer = new Customer((await shop.buyer()).secretKey);
    const header = (await buyer.pays(`${shop.url}/weather`))['payment-signature'] ?? '';
    const payment = JSON.parse(Buffer.from(header, 'base64').toString());
    const wire = Buffer.from(payment.payload.transaction, 'base64');
    await fc.assert(
      fc.asyncProperty(fc.nat(wire.length - 1), fc.integer({ min: 1, max: 255 }), async (at, change) => {
        const changed = Buffer.from(wire);
        changed[at] = (changed[at] ?? 0) ^ change;
        const headers = buyer.shows(payment.accepted, changed.toString('base64'));
        expect(await raw({ path: '/weather', headers })).toBe(402);
      }),
      { numRuns: 100 },
    );
    const { rows } = await shop.ledger.payments.list({ limit: 200 });
    expect(rows.map(({ payer }) => payer)).not.toContain(buyer.address);
  });

  it('may have a body of a megabyte, and a larger body is refused', async () => {
    const body = 'x'.repeat(1024 * 1024 + 1);
    expect(await raw({ method: 'POST', path: '/weather', body })).toBe(413);
    expect(await raw({ method: 'POST', path: '/order', body })).toBe(413);
    expect(await raw({ method: 'POST', path: '/order', body: body.slice(1) })).toBe(402);
  });
});
