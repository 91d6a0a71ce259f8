import fc from 'fast-check';
import { createRemoteJWKSet, jwtVerify } from 'jose';
import { sql } from 'kysely';
import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { challengeIn, signChallenge } from '../../../devkit/localstack/sign-in.ts';
import { forgedProofs, forgedTokens } from '../passes/forgeries.ts';
import { Customer, settlementOf } from './customer.ts';
import { Shop } from './shop.ts';

const PASS = 'sluice-access-pass';
const ACCESS_PASS = { seconds: 3_600 };
const STRANGER = { 'x-forwarded-for': '203.0.113.9' };

let shop: Shop;
beforeAll(async () => {
  shop = await Shop.open((upstream) => [
    { path: '/weather', price: '0.001', accessPass: ACCESS_PASS, upstream },
    { path: '/files/:name', price: '0.001', accessPass: ACCESS_PASS, upstream },
    { path: '/note', price: '0.001', accessPass: ACCESS_PASS, answer: { body: 'a note' } },
    { path: '/plain', price: '0.001', upstream },
    { path: '/free', free: true, upstream },
  ]);
  await shop.opened('/weather');
});
afterAll(() => shop?.close());
beforeEach(() => {
  shop.asked.length = 0;
  shop.upstream = (_asked, count) => ({ status: 200, body: `answer ${count}` });
});

/** Buys from this path. Returns the pass and what was paid. */
async function purchase(path: string) {
  const customer = new Customer((await shop.buyer()).secretKey);
  const headers = await customer.pays(shop.url + path);
  const response = await fetch(shop.url + path, { headers });
  expect(response.status).toBe(200);
  const payment = await shop.ledger.payments.findByName(String(settlementOf(response).transaction));
  const pass = response.headers.get(PASS) ?? '';
  return { customer, headers, pass, id: payment?.id ?? '', answer: await response.text() };
}

async function get(path: string, headers: Record<string, string>) {
  const response = await fetch(shop.url + path, { headers });
  const text = await response.text();
  const error = response.status === 402 ? JSON.parse(text).error : null;
  return { status: response.status, text, error, headers: response.headers };
}

async function errorOf(pass: string, path = '/weather'): Promise<string | null> {
  return (await get(path, { [PASS]: pass })).error;
}

describe('an access pass', () => {
  it('serves new requests for the path of its payment without a payment, and no other path, route or method', async () => {
    const { pass, id } = await purchase('/weather?day=1');
    const own = await get('/weather?day=2', { [PASS]: pass, authorization: 'Bearer of the upstream' });
    expect([own.status, own.text]).toEqual([200, 'answer 2']);
    expect(own.headers.get('cache-control')).toContain('private');
    const byBearer = await get('/weather', { authorization: `Bearer ${pass}` });
    expect([byBearer.status, byBearer.text]).toEqual([200, 'answer 3']);
    const file = await purchase('/files/one');
    expect((await get('/files/one', { [PASS]: file.pass })).status).toBe(200);
    for (const [path, other] of [
      ['/files/two', file.pass],
      ['/files/one', pass],
      ['/note', pass],
    ] as const)
      expect(await errorOf(other, path)).toBe('access_pass_other_resource');
    expect((await get('/plain', { [PASS]: pass })).error).toBe('X-PAYMENT header is required');
    expect((await fetch(`${shop.url}/weather`, { method: 'POST', headers: { [PASS]: pass } })).status).toBe(
      405,
    );
    const [paid, second] = shop.asked.map(({ headers }) => headers);
    expect(paid).toMatchObject({ 'idempotency-key': id, 'x-sluice-payment': id });
    expect(second).toMatchObject({ 'x-sluice-payment': id, authorization: 'Bearer of the upstream' });
    const keys = shop.asked.map(({ headers }) => headers['idempotency-key']);
    expect(new Set(keys).size).toBe(shop.asked.length);
  });

  it('never reaches the upstream, also on routes without passes', async () => {
    const { pass } = await purchase('/weather');
    for (const path of ['/weather', '/free', '/plain'])
      for (const headers of [{ [PASS]: pass }, { authorization: `Bearer ${pass}` }]) await get(path, headers);
    expect(shop.asked).toHaveLength(5);
    expect(JSON.stringify(shop.asked)).not.toContain(pass);
  });

  it('is the same for each repetition of the payment, and gives its holder the stored answer', async () => {
    const { headers, pass, answer } = await purchase('/weather');
    const again = await get('/weather', headers);
    expect([again.text, again.headers.get(PASS)]).toEqual([answer, pass]);
    const stranger = await get('/weather', { ...headers, ...STRANGER });
    expect(stranger.error).toBe('duplicate_settlement');
    const holder = await get('/weather', { ...headers, ...STRANGER, [PASS]: pass });
    expect([holder.status, holder.text]).toEqual([200, answer]);
    const other = await purchase('/weather');
    const copied = await get('/weather', { ...headers, ...STRANGER, [PASS]: other.pass });
    expect(copied.error).toBe('duplicate_settlement');
    expect(shop.asked).toHaveLength(2);
  });

  it('does not withhold the answer if it cannot be stored, and is then issued to a repeated payment', async () => {
    const { db } = shop.ledger;
    await sql`alter table access_pass rename to access_pass_away`.execute(db);
    const { headers, pass } = await purchase('/weather');
    await sql`alter table access_pass_away rename to access_pass`.execute(db);
    expect(pass).toBe('');
    const again = await get('/weather', headers);
    const late = again.headers.get(PASS) ?? '';
    expect([again.text, (await get('/weather', { [PASS]: late })).text]).toEqual(['answer 1', 'answer 2']);
  });

  it('ends when its payment is removed from the chain, and when an operator revokes it', async () => {
    const { pass, id, headers } = await purchase('/weather');
    const setStatus = (status: 'dead' | 'finalized') =>
      shop.ledger.db.updateTable('settlement').set({ status }).where('id', '=', id).execute();
    await vi.waitFor(
      async () => expect((await shop.ledger.settlements.get(id)).status).toBe('finalized'),
      20_000,
    );
    await setStatus('dead');
    await vi.waitFor(async () => expect(await errorOf(pass)).toBe('access_pass_unpaid'), 20_000);
    await setStatus('finalized');
    await vi.waitFor(async () => expect(await errorOf(pass)).toBeNull(), 20_000);
    const note = { actor: 'an operator', reason: 'stolen' };
    expect(await shop.ledger.accessPasses.revoke(id, note)).toBe(true);
    expect(await shop.ledger.accessPasses.revoke(id, note)).toBe(false);
    await vi.waitFor(async () => expect(await errorOf(pass)).toBe('access_pass_revoked'), 20_000);
    const repeated = await get('/weather', headers);
    expect([repeated.status, repeated.headers.get(PASS)]).toEqual([200, null]);
    const stranger = await get('/weather', { ...headers, ...STRANGER, [PASS]: pass });
    expect(stranger.error).toBe('duplicate_settlement');
  });

  it('is not issued for a payment that bought nothing, and gets the failures of the upstream', async () => {
    const { pass } = await purchase('/weather');
    const failures = [
      { status: 404, shown: 404 },
      { status: 500, shown: 500 },
      { status: 302, shown: 502 },
    ];
    for (const { status, shown } of failures) {
      shop.upstream = () => ({ status, body: '', headers: { location: 'http://elsewhere.example/' } });
      expect((await get('/weather', { [PASS]: pass })).status).toBe(shown);
    }
    shop.upstream = () => ({ status: 404, body: '' });
    const headers = await new Customer((await shop.buyer()).secretKey).pays(`${shop.url}/weather`);
    const refused = await get('/weather', headers);
    expect([refused.status, refused.headers.get(PASS)]).toEqual([404, null]);
  });

  it('also serves a static answer, and its key is published', async () => {
    const { pass, id, customer } = await purchase('/note');
    const note = await get('/note', { [PASS]: pass });
    expect([note.status, note.text]).toEqual([200, 'a note']);
    const keys = createRemoteJWKSet(new URL(`${shop.url}/.well-known/jwks.json`));
    const { payload } = await jwtVerify(pass, keys, { issuer: shop.url, audience: 'GET /note' });
    expect(payload).toMatchObject({ jti: id, sub: customer.address, path: '/note' });
    expect(await errorOf(`${pass.slice(0, -4)}AAAA`, '/note')).toBe('access_pass_invalid');
    expect(
      (await fetch(`${shop.url}/note`, { method: 'OPTIONS' })).headers.get('access-control-allow-headers'),
    ).toContain('Sluice-Access-Pass');
  });
});

it('a changed or random pass or sign-in gets a 402 and never reaches the upstream', async () => {
  const { pass, customer } = await purchase('/weather');
  const challenge = challengeIn(await fetch(`${shop.url}/weather`));
  const proof = signChallenge(challenge, customer.keypair.secretKey);
  const claims: fc.Arbitrary<Record<string, string>> = fc.record(
    {
      [PASS]: forgedTokens(pass),
      authorization: forgedTokens(pass).map((token) => `Bearer ${token}`),
      'sign-in-with-x': forgedProofs(proof),
    },
    { requiredKeys: [] },
  );
  shop.asked.length = 0;
  await fc.assert(
    fc.asyncProperty(claims, async (headers) => {
      expect((await get('/weather', headers)).status).toBe(402);
    }),
    { numRuns: 300 },
  );
  expect(shop.asked).toEqual([]);
  expect((await get('/weather', { [PASS]: pass })).status).toBe(200);
  expect((await get('/weather', { 'sign-in-with-x': proof })).status).toBe(200);
});

describe('sign-in-with-x', () => {
  it('serves a wallet that has paid for the path, and gives it the pass', async () => {
    const { pass, customer, id } = await purchase('/weather');
    const sign = async (path: string, { keypair }: Customer) =>
      signChallenge(challengeIn(await fetch(shop.url + path)), keypair.secretKey);
    const proof = await sign('/weather?day=2', customer);
    const served = await get('/weather?day=2', { 'sign-in-with-x': proof });
    expect([served.status, served.text, served.headers.get(PASS)]).toEqual([200, 'answer 2', pass]);
    expect(shop.asked[1]?.headers).toMatchObject({ 'x-sluice-payment': id });
    expect(JSON.stringify(shop.asked)).not.toContain(proof);
    const withEndedPass = { [PASS]: `${pass.slice(0, -4)}AAAA`, 'sign-in-with-x': proof };
    expect((await get('/weather', withEndedPass)).status).toBe(200);
    const stranger = new Customer((await shop.buyer()).secretKey);
    for (const [path, header, error] of [
      ['/weather', await sign('/weather', stranger), 'sign_in_without_payment'],
      ['/files/one', await sign('/files/one', customer), 'sign_in_without_payment'],
      ['/files/one', proof, 'invalid_siwx_uri_mismatch'],
    ] as const)
      expect((await get(path, { 'sign-in-with-x': header })).error).toBe(error);
    await shop.ledger.accessPasses.revoke(id, { actor: 'an operator', reason: 'stolen' });
    expect((await get('/weather', { 'sign-in-with-x': proof })).error).toBe('sign_in_without_payment');
    expect(challengeIn(await fetch(`${shop.url}/weather`)).nonce).toMatch(/^[0-9a-f]{32}$/);
  });
});
