import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { Customer, requirementsOf, settlementOf } from '../x402/gateway/customer.ts';
import { type ReceivedRequest, Shop } from '../x402/gateway/shop.ts';
import { type Buyer, legacyBuyer, version1Buyer, version2Buyer } from './buyers.ts';
import {
  buyAsExample,
  buyAsSubmitter,
  type ExampleQuote,
  showPayment,
  signTransfer,
  submitTransfer,
} from './example-client.ts';

let shop: Shop;
let usdc: string;
/** A second asset, which the clients of these tests do not know. */
let other: string;
/** What the upstream returns to a price request; null: the status 500. */
let price: string | null = '0.002 USDC';
let serial = 0;

beforeAll(async () => {
  shop = await Shop.open((upstream) => [{ path: '/weather', price: '0.001', upstream }]);
  usdc = shop.localnet.plantedMint.address;
  other = shop.localnet.mint.address;
  await shop.localnet.mintTo(other, shop.seller, 1n);
  await shop.reopen((upstream) => [
    {
      path: '/weather',
      prices: [
        { amount: '500', asset: other },
        { decimal: '0.001', asset: 'USDC' },
      ],
      upstream,
    },
    {
      path: '/quoted',
      methods: ['GET', 'POST'],
      price: { from: 'upstream', max: '0.004' },
      upstreamHeaders: { 'x-api-key': 'key of the route' },
      upstream,
    },
    {
      path: '/listed',
      methods: ['POST'],
      price: {
        from: 'upstream',
        max: [{ amount: '900', asset: other }, { decimal: '0.004' }],
        url: `${upstream}/price?list=1`,
      },
      upstream,
    },
  ]);
  await shop.opened('/weather');
});
afterAll(() => shop?.close());
beforeEach(() => {
  serial += 1;
  price = '0.002 USDC';
  shop.asked.length = 0;
  shop.upstream = ({ method, target }) => {
    if (target.startsWith('/price')) return { status: 200, body: price ?? '' };
    if (method !== 'HEAD') return { status: 200, body: `answer to ${target}` };
    return price === null
      ? { status: 500, body: '' }
      : { status: 200, body: '', headers: { 'x402-price': price } };
  };
});

/** A wallet with both assets. */
async function wallet(): Promise<Buyer & { readonly address: string }> {
  const buyer = await shop.buyer();
  await shop.localnet.mintTo(other, buyer.address, 1_000_000n);
  return buyer;
}

async function customer(): Promise<Customer> {
  return new Customer((await wallet()).secretKey);
}

/** The stored terms of the payment that a response reports. */
async function paidTerms(response: Response) {
  const payment = await shop.ledger.payments.findByName(String(settlementOf(response)['transaction']));
  if (payment === undefined) throw new Error(`${response.status} reports no payment`);
  const { asset, amount } = payment.terms;
  return { asset, amount };
}

function version1Header(transaction: string): Record<string, string> {
  const payment = { x402Version: 1, scheme: 'exact', network: 'solana-devnet', payload: { transaction } };
  return { 'x-payment': Buffer.from(JSON.stringify(payment)).toString('base64') };
}

function sold(): readonly ReceivedRequest[] {
  return shop.asked.filter(({ method, target }) => method !== 'HEAD' && !target.startsWith('/price'));
}

async function isUnpaid(address: string): Promise<boolean> {
  const { rows } = await shop.ledger.payments.list({ limit: 200 });
  return rows.every(({ payer }) => payer !== address);
}

describe('a route with prices in two assets', () => {
  const url = () => `${shop.url}/weather?n=${serial}`;

  it.each([
    ['of version 2', (buyer: Buyer) => version2Buyer(buyer)],
    ['of version 1', version1Buyer],
    ['x402-fetch', legacyBuyer],
  ] as const)(
    'sells to the official client %s, which chooses the second one: USDC',
    async (_name, clientOf) => {
      const buy = await clientOf(await wallet());
      const { response } = await buy(url());
      expect([response.status, await paidTerms(response)]).toEqual([200, { asset: usdc, amount: '1000' }]);
      expect(sold()).toHaveLength(1);
    },
  );

  it('sells to the official client of version 2 that allows the first one', async () => {
    const buy = await version2Buyer({ ...(await wallet()), asset: other });
    const { response } = await buy(url());
    expect([response.status, await paidTerms(response)]).toEqual([200, { asset: other, amount: '500' }]);
  });

  it.each([0, 1])('sells to clients of the interface for the quote %i in payments', async (index) => {
    const buyer = await wallet();
    const { payment, payments } = (await (await fetch(url())).json()) as {
      payment: ExampleQuote;
      payments: readonly ExampleQuote[];
    };
    expect(payments[0]).toEqual(payment);
    const quote = payments[index] ?? payment;
    const serializedTransaction = Buffer.from(await signTransfer(quote, buyer)).toString('base64');
    for (const payload of [{ serializedTransaction }, await submitTransfer(quote, buyer)]) {
      const response = await showPayment(url(), buyer, quote, payload);
      const expected = index === 0 ? { asset: other, amount: '500' } : { asset: usdc, amount: '1000' };
      expect([response.status, await paidTerms(response)]).toEqual([200, expected]);
    }
  });

  it('does not sell at the price of one asset in the other', async () => {
    const buyer = await customer();
    const accepted = requirementsOf(await fetch(url()));
    const mixed = { ...accepted, asset: usdc };
    const transaction = buyer.transaction(mixed);
    for (const headers of [
      buyer.shows(mixed, transaction),
      buyer.shows(accepted, transaction),
      version1Header(transaction),
    ])
      expect((await fetch(url(), { headers })).status).toBe(402);
    expect([await isUnpaid(buyer.address), sold()]).toEqual([true, []]);
  });
});

describe('a route whose upstream sets the price', () => {
  const url = () => `${shop.url}/quoted?n=${serial}`;

  it.each([
    ['the official client of version 2', async (buyer: Buyer) => (await version2Buyer(buyer))(url())],
    ['the official client of version 1', async (buyer: Buyer) => (await version1Buyer(buyer))(url())],
    ['x402-fetch', async (buyer: Buyer) => (await legacyBuyer(buyer))(url())],
    ['a client of the interface', (buyer: Buyer) => buyAsExample(url(), buyer)],
    ['a client that submits its transaction', (buyer: Buyer) => buyAsSubmitter(url(), buyer)],
  ] as const)('sells at that price to %s', async (_name, buy) => {
    const { response } = await buy(await wallet());
    expect([response.status, await paidTerms(response)]).toEqual([200, { asset: usdc, amount: '2000' }]);
    expect(sold()).toHaveLength(1);
  });

  it('asks by a HEAD for the same target, with the headers of the route and none of the buyer', async () => {
    const headers = { authorization: 'Bearer of the buyer', cookie: 'a=b', 'x-api-key': 'of the buyer' };
    const response = await fetch(url(), { method: 'POST', body: 'a body', headers });
    expect([response.status, requirementsOf(response).amount]).toEqual([402, '2000']);
    const [asked] = shop.asked;
    expect(asked).toMatchObject({ method: 'HEAD', target: `/quoted?n=${serial}`, body: '' });
    expect(asked?.headers).toMatchObject({ 'x-api-key': 'key of the route', 'sluice-method': 'POST' });
    expect(asked?.headers).not.toHaveProperty('authorization');
    expect(asked?.headers).not.toHaveProperty('cookie');
  });

  it('sells at the quoted price after the price has changed, in version 2 and for a submitted transaction', async () => {
    const [buyer, submitter] = [await customer(), await wallet()];
    const headers = await buyer.pays(url());
    const quote = ((await (await fetch(url())).json()) as { payment: ExampleQuote }).payment;
    const payload = await submitTransfer(quote, submitter);
    price = '0.003 USDC';
    expect(requirementsOf(await fetch(url())).amount).toBe('3000');
    price = null;
    for (const response of [
      await fetch(url(), { headers }),
      await showPayment(url(), submitter, quote, payload),
    ])
      expect([response.status, (await paidTerms(response)).amount]).toEqual([200, '2000']);
  });

  it('does not sell with the quote of another request, nor at another amount than the quoted one', async () => {
    const buyer = await customer();
    price = '0.001 USDC';
    const cheap = requirementsOf(await fetch(`${url()}&cheap=1`));
    price = '0.002 USDC';
    const lower = { ...requirementsOf(await fetch(url())), amount: '1000' };
    const { quote: _quote, ...extra } = cheap.extra;
    for (const accepted of [cheap, lower, { ...cheap, extra }]) {
      const headers = buyer.shows(accepted, buyer.transaction(accepted));
      const response = await fetch(url(), { headers });
      expect([response.status, requirementsOf(response).amount]).toEqual([402, '2000']);
    }
    expect([await isUnpaid(buyer.address), sold()]).toEqual([true, []]);
  });

  it('asks again for a payment of version 1, and does not sell at an earlier price', async () => {
    const buyer = await customer();
    const headers = version1Header(buyer.transaction(requirementsOf(await fetch(url()))));
    price = '0.003 USDC';
    const response = await fetch(url(), { headers });
    expect([response.status, requirementsOf(response).amount]).toEqual([402, '3000']);
    expect([await isUnpaid(buyer.address), sold()]).toEqual([true, []]);
  });

  it.each([
    ['the upstream returns an error', null],
    ['the price is above the maximum of the route', '0.004001 USDC'],
    ['the price is in another asset', '1 SOL'],
    ['the price is 0', '0 USDC'],
  ])('is closed while %s, and takes no payment', async (_what, unusable) => {
    const buyer = await customer();
    const headers = version1Header(buyer.transaction(requirementsOf(await fetch(url()))));
    price = unusable;
    for (const response of [await fetch(url()), await fetch(url(), { headers })]) {
      expect([response.status, response.headers.get('payment-required')]).toEqual([503, null]);
      expect(await response.json()).toEqual({ error: expect.stringContaining('cannot be sold now') });
    }
    expect([await isUnpaid(buyer.address), sold()]).toEqual([true, []]);
  });

  it('follows no redirect to a price', async () => {
    const headers = { location: '/elsewhere', 'x402-price': '0.001 USDC' };
    shop.upstream = () => ({ status: 302, body: '', headers });
    expect([(await fetch(url())).status, shop.asked.length]).toEqual([503, 1]);
  });

  it('may name a price URL, which gets the request and returns prices in several assets', async () => {
    const listed = `${shop.url}/listed?n=${serial}`;
    const prices = [
      { amount: '0.0008', asset: other },
      { amount: '0.003', asset: 'USDC' },
    ];
    price = JSON.stringify({ prices });
    const buy = await version2Buyer(await wallet());
    const { response } = await buy(listed, { method: 'POST', body: 'a long text' });
    expect([response.status, await paidTerms(response)]).toEqual([200, { asset: usdc, amount: '3000' }]);
    const [asked] = shop.asked;
    expect(asked).toMatchObject({ method: 'POST', target: '/price?list=1' });
    const body = Buffer.from('a long text').toString('base64');
    expect(JSON.parse(asked?.body ?? '')).toEqual({ method: 'POST', url: listed, body });
    expect(sold()).toMatchObject([{ body: 'a long text' }]);
  });
});
