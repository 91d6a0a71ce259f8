import { gzipSync } from 'node:zlib';
import { PublicKey } from '@solana/web3.js';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { NATIVE_MINT } from '../../../src/shims/spl-token.ts';
import { issueQuoteToken } from '../../../src/x402/formats/quote-token.ts';
import { requestHashOf } from '../../../src/x402/routes/target.ts';
import {
  buyAsExample,
  buyAsSubmitter,
  type ExampleQuote,
  fetchQuote,
  showPayment,
  signTransfer,
  submitTransfer,
} from '../../peers/example-client.ts';
import { Customer, requirementsOf, settlementOf } from './customer.ts';
import { Shop } from './shop.ts';

const MEMO = 'invoice 7';
const SECRET = 'a secret of at least 32 characters';
const MULTISIG_PROGRAM = new PublicKey('SQDS4ep65T869zMMBKyuUq6aD6EgTu8psMjkvj52pCf');
/** An address of a program, as vaults of multisigs have. */
const VAULT = PublicKey.findProgramAddressSync([Buffer.from('vault')], MULTISIG_PROGRAM)[0].toBase58();

let shop: Shop;
let serial = 0;
beforeAll(async () => {
  shop = await Shop.open(
    (upstream) => [
      { path: '/weather', price: '0.001', upstream },
      { path: '/named', price: '0.001', paymentIdentifier: 'required', upstream },
      { path: '/own-form', price: '0.001', serializedTransaction: 'refused', upstream },
      { path: '/invoice', price: '0.001', memo: MEMO, upstream },
      { path: '/vault', price: '0.001', payTo: VAULT, upstream },
      { path: '/mistake', price: '0.001', payTo: NATIVE_MINT.toBase58(), upstream },
    ],
    { SLUICE_X402_QUOTE_SECRET: SECRET },
  );
  await shop.localnet.mintTo(shop.localnet.plantedMint.address, VAULT, 1n);
  await shop.opened('/weather');
});
afterAll(() => shop?.close());
beforeEach(() => {
  serial += 1;
  shop.asked.length = 0;
  shop.upstream = (_asked, count) => ({ status: 200, body: `answer ${count}` });
});

async function customer(): Promise<Customer> {
  return new Customer((await shop.buyer()).secretKey);
}

/** Buys by version 1, with a payment that the test builds. */
async function buyAsVersion1(url: string): Promise<Response> {
  const transaction = (await customer()).transaction(requirementsOf(await fetch(url)));
  const payment = { x402Version: 1, scheme: 'exact', network: 'solana-devnet', payload: { transaction } };
  const header = Buffer.from(JSON.stringify(payment)).toString('base64');
  return fetch(url, { headers: { 'x-payment': header } });
}

const FORMS = [
  ['the interface', async (url: string) => (await buyAsExample(url, await shop.buyer())).response],
  [
    'the interface, which submits its transaction itself',
    async (url: string) => (await buyAsSubmitter(url, await shop.buyer())).response,
  ],
] as const;

describe('a route that requires a payment identifier', () => {
  it.each([['version 1', buyAsVersion1] as const, ...FORMS])(
    'sells to a client of %s, which cannot send one',
    async (_form, buy) => {
      const response = await buy(`${shop.url}/named?n=${serial}`);
      expect([response.status, await response.text()]).toEqual([200, expect.stringContaining('answer 1')]);
      expect(settlementOf(response)).toMatchObject({ success: true });
    },
  );

  it('demands it of a client of version 2, before the payment is settled', async () => {
    const url = `${shop.url}/named?n=${serial}`;
    const response = await fetch(url, { headers: await (await customer()).pays(url) });
    expect([response.status, shop.asked.length]).toEqual([400, 0]);
  });
});

describe('a route that refuses serialized transactions', () => {
  it('stores and sends none, and says that its buyer must not send it either', async () => {
    const url = `${shop.url}/own-form?n=${serial}`;
    const buyer = await shop.buyer();
    const { response, quote, payload } = await buyAsExample(url, buyer);
    expect([response.status, await response.json()]).toMatchObject([
      402,
      {
        details: expect.stringContaining('Do not send this transaction: sign one of another form'),
        payment: { quoteToken: expect.any(String) },
      },
    ]);
    // The same bytes still buy elsewhere, so they were neither stored nor sent.
    const elsewhere = await showPayment(`${shop.url}/weather?n=${serial}`, buyer, quote, payload);
    expect([elsewhere.status, shop.asked.length]).toEqual([200, 1]);
  });

  it('sells to clients of version 1 and of version 2, and to those that submit their transaction', async () => {
    const url = `${shop.url}/own-form?n=${serial}`;
    const responses = [
      await buyAsVersion1(url),
      await fetch(url, { headers: await (await customer()).pays(url) }),
      (await buyAsSubmitter(url, await shop.buyer())).response,
    ];
    expect(responses.map(({ status }) => status)).toEqual([200, 200, 200]);
  });
});

describe('an answer that is no text', () => {
  const PICTURE = Uint8Array.of(0x89, 0x50, 0x4e, 0x47, 0xff, 0xfe, 0x00);

  it.each(FORMS)('reaches a client of %s byte for byte, with its status and headers', async (_form, buy) => {
    const headers = { 'content-type': 'image/png', 'set-cookie': 'seen=1' };
    shop.upstream = () => ({ status: 201, body: PICTURE, headers });
    const response = await buy(`${shop.url}/weather?n=${serial}`);
    expect([response.status, new Uint8Array(await response.arrayBuffer())]).toEqual([201, PICTURE]);
    expect(Object.fromEntries(response.headers)).toMatchObject(headers);
    expect(settlementOf(response)).toMatchObject({ success: true });
  });

  it.each(FORMS)('because it is compressed reaches a client of %s unchanged', async (_form, buy) => {
    const headers = { 'content-type': 'application/json', 'content-encoding': 'gzip' };
    shop.upstream = () => ({ status: 200, body: gzipSync('{"degrees":7}'), headers });
    const response = await buy(`${shop.url}/weather?n=${serial}`);
    expect([response.status, await response.json()]).toEqual([200, { degrees: 7 }]);
    expect(settlementOf(response)).toMatchObject({ success: true });
  });
});

describe('a route with a memo', () => {
  it('sells to a client of the interface whose transaction has the memo of the quote', async () => {
    const url = `${shop.url}/invoice?n=${serial}`;
    const buyer = await shop.buyer();
    const quote: ExampleQuote & { readonly memo?: string } = await fetchQuote(url, buyer);
    expect(quote.memo).toBe(MEMO);
    for (const memo of [undefined, 'invoice 8']) {
      const wire = await signTransfer(quote, buyer, memo === undefined ? {} : { memo });
      const serializedTransaction = Buffer.from(wire).toString('base64');
      const refused = await showPayment(url, buyer, quote, { serializedTransaction });
      expect([refused.status, await refused.json()]).toMatchObject([
        402,
        { error: 'Payment verification failed', details: expect.stringContaining('memo') },
      ]);
    }
    const wire = await signTransfer(quote, buyer, { memo: MEMO });
    const serializedTransaction = Buffer.from(wire).toString('base64');
    const response = await showPayment(url, buyer, quote, { serializedTransaction });
    expect([response.status, shop.asked.length]).toEqual([200, 1]);
  });

  it('offers no quote token, whose memo the transaction would need in place of this one', async () => {
    const url = `${shop.url}/invoice?n=${serial}`;
    const buyer = await shop.buyer();
    const quote = await fetchQuote(url, buyer);
    expect(quote.quoteToken).toBeUndefined();
    const quoteToken = issueQuoteToken(SECRET, {
      route: 'GET /invoice',
      request: requestHashOf(
        { id: 'GET /invoice' },
        'GET',
        { path: '/invoice', query: `?n=${serial}` },
        new Uint8Array(),
      ),
      amount: String(quote.amount),
      asset: quote.mint,
      payTo: quote.recipientWallet,
      expiresAt: Date.now() + 60_000,
    });
    const payload = await submitTransfer({ ...quote, quoteToken }, buyer);
    const refused = await showPayment(url, buyer, quote, payload);
    expect([refused.status, shop.asked.length]).toEqual([402, 0]);
  });
});

describe('a seller whose wallet is the vault of a multisig', () => {
  it('sells to clients of version 2 and of the interface', async () => {
    await shop.opened('/vault');
    const url = `${shop.url}/vault?n=${serial}`;
    const response = await fetch(url, { headers: await (await customer()).pays(url) });
    expect([response.status, await response.text()]).toEqual([200, 'answer 1']);
    expect((await buyAsExample(url, await shop.buyer())).response.status).toBe(200);
  });

  it('must not be a token account or a mint: the route is not sold then', async () => {
    const response = await fetch(`${shop.url}/mistake`);
    expect([response.status, await response.json()]).toMatchObject([
      503,
      { error: expect.stringContaining('is a token account or a mint') },
    ]);
  });

  it('is paid through the facilitator', async () => {
    await shop.opened('/vault');
    const paymentRequirements = requirementsOf(await fetch(`${shop.url}/vault`));
    const transaction = (await customer()).transaction(paymentRequirements);
    const paymentPayload = { x402Version: 2, accepted: paymentRequirements, payload: { transaction } };
    const response = await fetch(`${shop.url}/facilitator/settle`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ x402Version: 2, paymentPayload, paymentRequirements }),
    });
    expect(await response.json()).toMatchObject({ success: true });
  });
});
