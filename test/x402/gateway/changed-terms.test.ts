import { Keypair } from '@solana/web3.js';
import { sql } from 'kysely';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { FORMS, fetchTerms, type PaymentForm, pay } from '../../../devkit/localstack/buyer.ts';
import { issueQuoteToken, quoteKeyOf, readQuoteToken } from '../../../src/x402/formats/quote-token.ts';
import { fetchQuote, showPayment, submitTransfer } from '../../peers/example-client.ts';
import { fetchUntilSettled, requirementsOf, settlementOf } from './customer.ts';
import { Shop } from './shop.ts';

const QUOTE_SECRET = 'the secret of the quotes of this test';
const PATIENT = { timeout: 60_000, interval: 100 };
let shop: Shop;
let otherSeller: string;
/** Targets at which the upstream works again. */
const recoveredTargets = new Set<string>();

const routesAt = (price: string) => (upstream: string) => [{ path: '/weather', price, upstream }];

beforeAll(async () => {
  shop = await Shop.open(routesAt('0.001'), { SLUICE_X402_QUOTE_SECRET: QUOTE_SECRET });
  otherSeller = Keypair.generate().publicKey.toBase58();
  await shop.localnet.mintTo(shop.localnet.plantedMint.address, otherSeller, 1n);
  shop.upstream = ({ target }) => {
    if (target.includes('refused')) return { status: 404, body: 'no such city' };
    if (target.includes('owed') && !recoveredTargets.has(target)) return { status: 503, body: '' };
    return { status: 200, body: `answer to ${target}` };
  };
});
afterAll(() => shop?.close());

/** Changes the terms of the route, and makes the old terms as old as after hours. */
async function reopenShop(price: string, payTo = shop.seller): Promise<void> {
  const forget = () =>
    shop.ledger.db.updateTable('offer').set({ lastOfferedAt: sql<Date>`now() - interval '1 day'` }).execute();
  await shop.reopen(routesAt(price), payTo, forget);
  await shop.opened('/weather');
}

const CHANGES = [
  ['price', () => reopenShop('0.002')],
  ['wallet of the seller', () => reopenShop('0.001', otherSeller)],
] as const;
/** The forms in which the server submits the transaction. */
const SIGNED_FORMS = FORMS.filter((form) => form !== 'submitted');

let serial = 0;

/** A request of its own, and a payment for it by a new buyer. `what`: how the upstream answers. */
async function payment(form: PaymentForm, what: 'served' | 'owed' | 'refused') {
  serial += 1;
  const target = `/weather?${what}=${serial}`;
  const url = shop.url + target;
  const { secretKey, rpcUrl, address } = await shop.buyer();
  const headers = await pay(form, await fetchTerms(url), secretKey, rpcUrl);
  return { target, url, address, headers };
}

/** Payments in one form, sent before the terms change except for `unshown`. */
async function paymentsIn(form: PaymentForm) {
  const shown = async (what: 'served' | 'owed' | 'refused') => {
    const paid = await payment(form, what);
    return { ...paid, first: await fetchUntilSettled(paid.url, paid.headers) };
  };
  const [served, owed, refused] = await Promise.all([shown('served'), shown('owed'), shown('refused')]);
  return { served, owed, refused };
}

type SentPayments = Awaited<ReturnType<typeof paymentsIn>>;

function timesAsked(target: string): number {
  return shop.asked.filter((asked) => asked.target === target).length;
}

/** The answer, without the body of the interface that may wrap it. */
async function textOf(response: Response): Promise<string> {
  const text = await response.text();
  return text.startsWith('{') ? (JSON.parse(text) as { data: string }).data : text;
}

async function expectNoTerms(response: Response): Promise<void> {
  const body = await response.text();
  expect(response.headers.get('payment-required')).toBeNull();
  expect(body).not.toContain('accepts');
  expect(body).not.toContain('quoteToken');
}

describe.each(CHANGES)('after a change of the terms to another %s', (_what, change) => {
  const before = new Map<PaymentForm, SentPayments>();
  const unshown = new Map<PaymentForm, Awaited<ReturnType<typeof payment>>>();
  beforeAll(async () => {
    await reopenShop('0.001');
    for (const form of FORMS) before.set(form, await paymentsIn(form));
    for (const form of SIGNED_FORMS) unshown.set(form, await payment(form, 'served'));
    await change();
  });

  function paid(form: PaymentForm): SentPayments {
    const payments = before.get(form);
    if (payments === undefined) throw new Error(`nothing was paid as ${form}`);
    return payments;
  }

  it.each(FORMS)('a served payment gets the same answer again, as %s', async (form) => {
    const { first, url, target, headers } = paid(form).served;
    expect([first.status, await textOf(first)]).toEqual([200, `answer to ${target}`]);
    const again = await fetch(url, { headers });
    expect([again.status, await textOf(again)]).toEqual([200, `answer to ${target}`]);
    expect(settlementOf(again)).toEqual(settlementOf(first));
    expect(timesAsked(target)).toBe(1);
  });

  it.each(FORMS)('an owed payment is served, as %s', async (form) => {
    const { first, url, target, headers } = paid(form).owed;
    expect(first.status).toBe(502);
    const still = await fetch(url, { headers });
    expect(still.status).toBe(502);
    await expectNoTerms(still);
    recoveredTargets.add(target);
    await vi.waitFor(async () => {
      const again = await fetch(url, { headers });
      expect([again.status, await textOf(again)]).toEqual([200, `answer to ${target}`]);
    }, PATIENT);
    const { transaction } = settlementOf(first);
    expect(await shop.ledger.payments.findByName(String(transaction))).toMatchObject({ state: 'served' });
  });

  it.each(FORMS)('a payment that the upstream refused gets the same answer again, as %s', async (form) => {
    const { first, url, target, headers } = paid(form).refused;
    expect(first.status).toBe(404);
    const again = await fetch(url, { headers });
    expect([again.status, again.headers.get('payment-required')]).toEqual([404, null]);
    expect([await again.text(), timesAsked(target)]).toEqual(['no such city', 1]);
  });

  it.each(FORMS)(
    'a payment that has bought a request is a duplicate for another request, as %s',
    async (form) => {
      const { url, target, headers } = paid(form).served;
      const other = await fetch(`${url}&more=1`, { headers });
      expect([other.status, settlementOf(other)]).toMatchObject([
        402,
        { errorReason: 'duplicate_settlement' },
      ]);
      await expectNoTerms(other);
      expect(timesAsked(`${target}&more=1`)).toBe(0);
    },
  );

  it.each(SIGNED_FORMS)('a payment that was never sent before buys nothing, as %s', async (form) => {
    const { url = '', headers = {}, address, target = '' } = unshown.get(form) ?? {};
    const refused = await fetch(url, { headers });
    expect(refused.status).toBe(402);
    const { payTo, amount } = requirementsOf(refused);
    expect([payTo, amount]).not.toEqual([shop.seller, '1000']);
    const { rows } = await shop.ledger.payments.list({ limit: 200 });
    expect(rows.map(({ payer }) => payer)).not.toContain(address);
    expect(timesAsked(target)).toBe(0);
  });
});

it('a payment of version 1 may have the name of the network in version 2', async () => {
  const url = `${shop.url}/weather?caip2`;
  const { secretKey, rpcUrl } = await shop.buyer();
  const terms = await fetchTerms(url);
  const { network } = requirementsOf(await fetch(url));
  const v1 = terms.v1.map((accepted) => ({ ...accepted, network: String(network) }));
  const headers = await pay('v1', { ...terms, v1 }, secretKey, rpcUrl);
  const response = await fetchUntilSettled(url, { ...headers });
  expect([response.status, settlementOf(response)['success']]).toEqual([200, true]);
});

describe('a transaction that its buyer has submitted', () => {
  it('buys at the price of its quote after a change of the price', async () => {
    await reopenShop('0.001');
    const { url, target, headers } = await payment('submitted', 'served');
    await reopenShop('0.002');
    const response = await fetchUntilSettled(url, headers);
    expect([response.status, await textOf(response)]).toEqual([200, `answer to ${target}`]);
    const { transaction } = settlementOf(response);
    const sold = await shop.ledger.payments.findByName(String(transaction));
    expect(sold?.terms.amount).toBe('1000');
  });

  it('is stored as unmatched where its quote had expired when the buyer sent its signature', async () => {
    const target = '/weather?late';
    const url = shop.url + target;
    const buyer = await shop.buyer();
    const quote = await fetchQuote(url, buyer);
    const claims = readQuoteToken([quoteKeyOf(QUOTE_SECRET, shop.url)], quote.quoteToken ?? '', 0);
    if (claims === null) throw new Error('the gateway has another secret');
    const expired = { ...claims, expiresAt: Date.now() - 1_000 };
    const late = { ...quote, quoteToken: issueQuoteToken(quoteKeyOf(QUOTE_SECRET, shop.url), expired) };
    const shown = await submitTransfer(late, buyer);
    for (const _time of ['first', 'again']) {
      const response = await showPayment(url, buyer, late, shown);
      expect([response.status, settlementOf(response)]).toMatchObject([
        402,
        { errorReason: 'duplicate_settlement', transaction: shown.signature },
      ]);
      await expectNoTerms(response);
    }
    expect(await shop.ledger.payments.findByName(shown.signature)).toMatchObject({
      state: 'unmatched',
      reason: 'the payment was presented after its quote had expired',
      payer: buyer.address,
    });
    expect(timesAsked(target)).toBe(0);
  });
});
