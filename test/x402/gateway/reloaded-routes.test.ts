import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import { FORMS, fetchTerms, type PaymentForm, pay, readTerms } from '../../../devkit/localstack/buyer.ts';
import { fetchUntilSettled, requirementsOf, settlementOf } from './customer.ts';
import { Shop } from './shop.ts';

const PATIENT = { timeout: 60_000, interval: 100 };
const NOTE = { actor: 'an operator', reason: 'a test' };
let shop: Shop;
/** Targets at which the upstream works again. */
const recoveredTargets = new Set<string>();

const STAYS = { path: '/stays', free: true, answer: { body: 'here' } };
const priced = (path: string, price: string) => (upstream: string) => [STAYS, { path, price, upstream }];

beforeAll(async () => {
  // Payments that are shown after a reload stay valid for 20 seconds, also on a busy machine.
  const chain = { slotMs: 150, finalityLag: 8, nodes: 1 };
  shop = await Shop.open(priced('/weather/:city', '0.001'), {}, chain);
  shop.upstream = ({ target }) =>
    target.includes('owed') && !recoveredTargets.has(target)
      ? { status: 503, body: '' }
      : { status: 200, body: `answer to ${target}` };
  await shop.opened('/weather/first');
});
afterAll(() => shop?.close());

async function statusBecomes(path: string, status: number): Promise<void> {
  await vi.waitFor(async () => expect((await fetch(shop.url + path)).status).toBe(status), PATIENT);
}

async function priceBecomes(path: string, amount: string): Promise<void> {
  const read = async () => expect(requirementsOf(await fetch(shop.url + path)).amount).toBe(amount);
  await vi.waitFor(read, PATIENT);
}

/** Reloads the routes until the path has this price. */
async function sellAt(path: string, price: string, amount: string): Promise<void> {
  shop.reload(priced(path, price));
  await priceBecomes(path.replace(':city', 'x'), amount);
}

async function payment(form: PaymentForm, target: string) {
  const url = shop.url + target;
  const { secretKey, rpcUrl } = await shop.buyer();
  return { url, headers: await pay(form, await fetchTerms(url), secretKey, rpcUrl) };
}

/** The answer, without the body of the interface that may wrap it. */
async function textOf(response: Response): Promise<string> {
  const text = await response.text();
  return text.startsWith('{') ? (JSON.parse(text) as { data: string }).data : text;
}

async function expectServed(response: Response, target: string): Promise<void> {
  expect([response.status, await textOf(response)]).toEqual([200, `answer to ${target}`]);
}

const timesAsked = (target: string) => shop.asked.filter((asked) => asked.target === target).length;

it('a file with a fault changes nothing, and a reload sells the new price beside quotes of the old one', async () => {
  const quoted = await payment('v2', '/weather/quoted');
  const before = await shop.ledger.routeVersions.head();
  shop.reload(() => [{ path: '/weather/:city', price: 1 }]);
  shop.reload(priced('/weather/:city', '0.002'));
  await priceBecomes('/weather/x', '2000');
  const after = await shop.ledger.routeVersions.head();
  expect([before?.position, after?.position]).toEqual([1n, 2n]);
  await expectServed(await fetchUntilSettled(quoted.url, quoted.headers), '/weather/quoted');
});

it('a version that another process stores is sold, survives a restart, and ends at the next reload', async () => {
  const content = shop.reload(priced('/weather/:city', '0.001'));
  await priceBecomes('/weather/x', '1000');
  const of = (price: string) => JSON.parse(JSON.stringify(content).replace('0.001', price)) as object;
  const expected = (await shop.ledger.routeVersions.head())?.position ?? 0n;
  await shop.ledger.routeVersions.publish({ kind: 'put', expected, content: of('0.004'), ...NOTE });
  await priceBecomes('/weather/x', '4000');
  await shop.reopen(priced('/weather/:city', '0.001'));
  await shop.opened('/weather/x');
  await priceBecomes('/weather/x', '4000');
  const broken = { kind: 'put' as const, expected: expected + 1n, content: { routes: [] }, ...NOTE };
  await shop.ledger.routeVersions.publish(broken);
  shop.reload(priced('/weather/:city', '0.001'));
  await priceBecomes('/weather/x', '1000');
});

it.each(FORMS)(
  'payments for a route that a reload removed or moved are served as before, as %s',
  async (form) => {
    await sellAt('/weather/:city', '0.001', '1000');
    const at = (what: string) => `/weather/${form}-${what}`;
    const [served, owed, unshown] = await Promise.all(
      ['served', 'owed', 'unshown'].map((what) => payment(form, at(what))),
    );
    if (served === undefined || owed === undefined || unshown === undefined) throw new Error('unreachable');
    const first = await fetchUntilSettled(served.url, served.headers);
    await expectServed(first, at('served'));
    expect((await fetchUntilSettled(owed.url, owed.headers)).status).toBe(502);

    shop.reload(() => [STAYS]);
    await statusBecomes(at('served'), 404);
    await expectServed(await fetch(served.url, { headers: served.headers }), at('served'));
    await expectServed(await fetchUntilSettled(unshown.url, unshown.headers), at('unshown'));
    const refused = await fetch(`${served.url}-other`, { headers: served.headers });
    expect([refused.status, settlementOf(refused)['errorReason']]).toEqual([402, 'duplicate_settlement']);

    await sellAt('/weather/*', '0.003', '3000');
    const again = await fetch(served.url, { headers: served.headers });
    await expectServed(again, at('served'));
    expect([settlementOf(again), timesAsked(at('served'))]).toEqual([settlementOf(first), 1]);
    recoveredTargets.add(at('owed'));
    const serveOwed = async () => expectServed(await fetch(owed.url, { headers: owed.headers }), at('owed'));
    await vi.waitFor(serveOwed, PATIENT);
  },
);

it('a transaction that its buyer sent before its path moved to a narrower route is served', async () => {
  await sellAt('/weather/*', '0.001', '1000');
  const { url, headers } = await payment('submitted', '/weather/moved');
  shop.reload((upstream) => [
    { path: '/weather/*', price: '0.001', upstream },
    { path: '/weather/moved', price: '0.005', upstream },
  ]);
  await priceBecomes('/weather/moved', '5000');
  await expectServed(await fetchUntilSettled(url, headers), '/weather/moved');
});

it('a request with a quote of a wider, cheaper route is asked for the price of its own route', async () => {
  await sellAt('/weather/*', '0.002', '2000');
  const premium = `${shop.url}/weather/premium`;
  const early = (await fetchTerms(premium)).quotes[0]?.quoteToken;
  shop.reload((upstream) => [
    { path: '/weather/*', price: '0.002', upstream },
    { path: '/weather/premium', price: '5', upstream },
  ]);
  await priceBecomes('/weather/premium', '5000000');

  const { headers } = await payment('submitted', '/weather/cheap');
  const proof = JSON.parse(Buffer.from(headers['x-payment'] ?? '', 'base64').toString());
  const { signature, quoteToken: cheap } = proof.payload;
  const unknown = '1'.repeat(64);
  const payloads = [
    { signature: unknown, quoteToken: cheap },
    { signature, quoteToken: cheap },
    { signature, quoteToken: early },
  ];
  for (const payload of payloads) {
    const header = Buffer.from(JSON.stringify({ ...proof, payload })).toString('base64');
    const terms = await readTerms(await fetch(premium, { headers: { 'x-payment': header } }));
    expect([terms.quotes[0]?.amount, terms.v2.accepts[0]?.amount]).toEqual([5_000_000, '5000000']);
  }
});
