import { createHmac } from 'node:crypto';
import { sql } from 'kysely';
import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import type { UpstreamOptions } from '../../../src/x402/upstream.ts';
import { Customer, settlementOf } from './customer.ts';
import { Shop, soonLate } from './shop.ts';

const SECRET = 'a secret that the upstream knows, too';
const CREDENTIALS = { authorization: { env: 'UPSTREAM_TOKEN' }, 'x-plan': 'gold' };
let shop: Shop;
let serial = 0;
let bounds: UpstreamOptions[];
/** Time that the upstream takes for an answer, as simulated time: a call with a shorter limit gets no answer. */
let answersAfterMs: number;

beforeAll(async () => {
  shop = await Shop.open(
    (upstream) => [
      { path: '/report', price: '0.001', upstream },
      { path: '/events', price: '0.001', stream: true, upstream },
      { path: '/private', price: '0.001', upstreamHeaders: CREDENTIALS, upstream },
      {
        path: '/private-first',
        price: '0.001',
        flow: 'serve-first',
        timeoutSeconds: 5,
        upstreamHeaders: CREDENTIALS,
        upstream,
      },
      { path: '/public', free: true, upstreamHeaders: CREDENTIALS, upstream },
      { path: '/large', price: '0.001', maxAnswerBytes: 1024, upstream },
      { path: '/first', price: '0.001', flow: 'serve-first', timeoutSeconds: 5, upstream },
      { path: '/order', method: 'POST', price: '0.001', timeoutSeconds: 60, upstream },
    ],
    {
      UPSTREAM_TOKEN: 'Bearer of the shop',
      SLUICE_X402_UPSTREAM_SECRET: SECRET,
      SLUICE_X402_PUBLIC_URL: 'https://shop.example',
    },
    undefined,
    'x402',
    {
      decorate: soonLate,
      replaceUpstream: (call) => async (request, options) => {
        bounds.push(options);
        if (options.timeoutMs < answersAfterMs) return { kind: 'none', reason: 'no answer in time' };
        return call(request, options);
      },
    },
  );
  await shop.opened('/report');
});
afterAll(() => shop?.close());
beforeEach(() => {
  serial += 1;
  bounds = [];
  answersAfterMs = 0;
  shop.asked.length = 0;
  shop.upstream = (_asked, count) => ({ status: 200, body: `answer ${count}` });
});

async function customer(): Promise<Customer> {
  return new Customer((await shop.buyer()).secretKey);
}

/** A payment of a new buyer for one request. */
async function pays(path: string, init: RequestInit = {}) {
  const url = `${shop.url}${path}?n=${serial}`;
  return { url, headers: await (await customer()).pays(url, init) };
}

/** Pays for one request and sends it. */
async function buys(path: string, init: RequestInit = {}): Promise<Response> {
  const { url, headers } = await pays(path, init);
  return fetch(url, { ...init, headers });
}

async function paymentOf(response: Response) {
  return shop.ledger.payments.findByName(String(settlementOf(response)['transaction']));
}

describe('a paid request', () => {
  it('is served where its upstream takes longer than others, within the time of its route', async () => {
    answersAfterMs = 35_000;
    const response = await buys('/order', { method: 'POST', body: '{"pizza":1}' });
    expect([response.status, await response.text()]).toEqual([200, 'answer 1']);
    expect(await paymentOf(response)).toMatchObject({ state: 'served' });
    expect(bounds).toMatchObject([{ timeoutMs: 60_000 }]);
  });

  it.each([408, 425, 429])('that the upstream answers with %i is owed, and asked again', async (status) => {
    shop.upstream = (_asked, count) =>
      count === 1
        ? { status, body: 'not now', headers: { 'retry-after': '7' } }
        : { status: 200, body: 'answer' };
    const response = await buys('/report');
    expect([response.status, response.headers.get('retry-after')]).toEqual([502, '7']);
    await vi.waitFor(
      async () => expect(await paymentOf(response)).toMatchObject({ state: 'served' }),
      30_000,
    );
  });

  it.each([302, 308])('follows a redirect %i to the origin of the upstream, once', async (status) => {
    shop.upstream = ({ target }) =>
      target.startsWith('/moved')
        ? { status: 200, body: 'the report' }
        : { status, body: '', headers: { location: '/moved?to=here#part' } };
    const response = await buys('/report');
    expect([response.status, await response.text()]).toEqual([200, 'the report']);
    expect(shop.asked.map(({ target }) => target)).toEqual([`/report?n=${serial}`, '/moved?to=here']);
    expect(await paymentOf(response)).toMatchObject({ state: 'served' });
  });

  it.each([
    ['to another origin', '/report', () => 'http://127.0.0.2/secret'],
    ['that leads to another redirect', '/report', () => '/elsewhere'],
    ['of a POST', '/order', () => '/order/7'],
    ['without a target', '/report', () => undefined],
  ])('is refundable after a redirect %s, and never served', async (_name, path, locationOf) => {
    const location = locationOf();
    shop.upstream = () => ({ status: 302, body: 'moved', ...(location && { headers: { location } }) });
    const response = await buys(path, path === '/order' ? { method: 'POST', body: '{}' } : {});
    expect([response.status, response.headers.get('location')]).toEqual([502, null]);
    expect(((await response.json()) as { error: string }).error).toMatch(/redirect/);
    expect(await paymentOf(response)).toMatchObject({ state: 'refundable' });
  });

  it('of a route that is served first is not charged after a redirect, and its target stays hidden', async () => {
    shop.upstream = () => ({ status: 302, body: '', headers: { location: 'http://127.0.0.2/secret' } });
    const response = await buys('/first');
    expect([response.status, response.headers.get('location')]).toEqual([502, null]);
    expect(await response.json()).toEqual({ error: expect.stringMatching(/nothing was paid: .*redirect/) });
  });

  it('of a streamed route gets each part when the upstream sends it, and is served at the head', async () => {
    const [first, second] = [latch(), latch()];
    shop.upstream = () => ({ status: 200, body: events(first.opened, second.opened) });
    const response = await buys('/events');
    expect(response.status).toBe(200);
    expect(await paymentOf(response)).toMatchObject({ state: 'served', isAnswered: false });
    const parts = response.body?.pipeThrough(new TextDecoderStream()).getReader();
    first.open();
    expect(await parts?.read()).toEqual({ done: false, value: 'event 1' });
    second.open();
    expect(await parts?.read()).toEqual({ done: false, value: 'event 2' });
    expect(await parts?.read()).toMatchObject({ done: true });
  });

  it('of a streamed route that the upstream refuses is refundable, with the whole refusal', async () => {
    shop.upstream = () => ({ status: 404, body: 'no such stream' });
    const response = await buys('/events');
    expect([response.status, await response.text()]).toEqual([404, 'no such stream']);
    expect(await paymentOf(response)).toMatchObject({ state: 'refundable', isAnswered: true });
  });
});

describe('a request to the upstream', () => {
  const forged = {
    authorization: 'Bearer of the buyer',
    x_plan: 'free',
    'sluice-payment': 'forged',
    'x-forwarded-host': 'evil.example',
  };
  const expected = {
    authorization: 'Bearer of the shop',
    'x-plan': 'gold',
    'x-forwarded-for': '127.0.0.1',
    'x-forwarded-proto': 'https',
    'x-forwarded-host': 'shop.example',
  };

  it('has the headers of its route and a signed payment, by the gateway and by the worker', async () => {
    const { url, headers } = await pays('/private');
    shop.upstream = (_asked, count) => ({ status: count === 1 ? 503 : 200, body: '' });
    let stored = '';
    shop.hold = async () => {
      const { rows } = await sql<{ request: string }>`select request from payment
        where state = 'owed' and route = 'GET /private'`.execute(shop.ledger.db);
      stored ||= rows.map(({ request }) => request).join();
    };
    const response = await fetch(url, { headers: { ...headers, ...forged } });
    await vi.waitFor(
      async () => expect(await paymentOf(response)).toMatchObject({ state: 'served' }),
      30_000,
    );
    shop.hold = null;
    expect(stored).toContain('UPSTREAM_TOKEN');
    expect(stored).not.toContain('Bearer of the shop');
    const { id, payer, terms } = (await paymentOf(response)) ?? {};
    const { amount, asset, network, payTo } = terms ?? {};
    const paid = { iss: 'sluice', sub: id, paid: true, payer, amount, asset, network, payTo };
    expect(shop.asked).toHaveLength(2);
    for (const asked of shop.asked) {
      expect(asked.headers).toMatchObject(expected);
      expect(asked.headers).not.toHaveProperty('x_plan');
      const claims = claimsOf(asked.headers['sluice-payment']);
      expect(claims).toMatchObject({ ...paid, route: 'GET /private', method: 'GET' });
      expect(new URL(String(claims['url'])).searchParams.get('n')).toBe(String(serial));
    }
  });

  it('of a route that is served first has a payment that is not paid yet, and that of a free route has none', async () => {
    await buys('/private-first');
    await fetch(`${shop.url}/public`, { headers: forged });
    const [first, free] = shop.asked.map(({ headers }) => headers);
    expect(claimsOf(first?.['sluice-payment'])).toMatchObject({ paid: false, route: 'GET /private-first' });
    expect(free).toMatchObject(expected);
    expect(free).not.toHaveProperty('sluice-payment');
  });
});

/** Verifies Sluice-Payment as docs/selling.md shows it. */
function claimsOf(token: unknown): Record<string, unknown> {
  const [header = '', payload = '', signature] = String(token).split('.');
  const expected = createHmac('sha256', SECRET).update(`${header}.${payload}`).digest('base64url');
  expect(signature).toBe(expected);
  expect(JSON.parse(Buffer.from(header, 'base64url').toString())).toEqual({ alg: 'HS256', typ: 'JWT' });
  const claims = JSON.parse(Buffer.from(payload, 'base64url').toString()) as Record<string, number>;
  expect(claims['exp']).toBe(Number(claims['iat']) + 300);
  return claims;
}

describe('an answer that is too large to store', () => {
  const large = (count: number, size = 5_000) => `${count}`.padEnd(size, '.');

  it('is asked for again at most three times, calls without an answer aside', async () => {
    shop.upstream = (_asked, count) => ({ status: count === 2 ? 503 : 200, body: large(count) });
    const { url, headers } = await pays('/large');
    const first = await fetch(url, { headers });
    expect([first.status, await first.text()]).toEqual([200, large(1)]);
    expect((await fetch(url, { headers })).status).toBe(502);
    for (const count of [3, 4, 5]) expect(await (await fetch(url, { headers })).text()).toBe(large(count));
    const refused = await fetch(url, { headers });
    expect(settlementOf(refused)).toMatchObject({ errorReason: 'duplicate_settlement' });
    expect(shop.asked).toHaveLength(5);
    expect(await paymentOf(first)).toMatchObject({ state: 'served', isAnswered: false });
  });

  it('of a route that is served first is not charged', async () => {
    shop.upstream = () => ({ status: 200, body: large(1, 1_500_000) });
    const response = await buys('/first');
    expect([response.status, await response.json()]).toEqual([
      502,
      { error: expect.stringMatching(/nothing was paid: .*too large/) },
    ]);
  });

  it('can be asked for again for a time after its last delivery was cut', async () => {
    const never = latch();
    shop.upstream = (_asked, count) =>
      count === 1
        ? { status: 200, body: events(Promise.resolve(), never.opened) }
        : { status: 200, body: 'all' };
    const { url, headers } = await pays('/events');
    const abort = new AbortController();
    const response = await fetch(url, { headers, signal: abort.signal });
    const { id = '' } = (await paymentOf(response)) ?? {};
    // As time would do it: the delivery continues for longer than the buyer may come back after its end.
    const servedAt = sql<Date>`now() - interval '11 minutes'`;
    await shop.ledger.db.updateTable('payment').set({ servedAt }).where('id', '=', id).execute();
    expect(settlementOf(await fetch(url, { headers }))).toMatchObject({
      errorReason: 'duplicate_settlement',
    });
    abort.abort();
    await vi.waitFor(async () => {
      const again = await fetch(url, { headers });
      expect([again.status, await again.text()]).toEqual([200, 'all']);
    }, 10_000);
  });
});

function latch() {
  let open: () => void = () => undefined;
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });
  return { open: () => open(), opened };
}

/** One event for each latch, once it is open. */
async function* events(...latches: readonly Promise<void>[]): AsyncGenerator<string> {
  for (const [index, opened] of latches.entries()) {
    await opened;
    yield `event ${index + 1}`;
  }
}
