import { sql } from 'kysely';
import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { rpc } from '../../../devkit/localstack/rpc.ts';
import { fetchQuote, showPayment, signTransfer, submitTransfer } from '../../peers/example-client.ts';
import { Customer, settlementOf } from './customer.ts';
import { Shop, soonLate } from './shop.ts';

let shop: Shop;
let url: string;
let serial = 0;
beforeAll(async () => {
  shop = await Shop.open(
    (upstream) => [
      { path: '/weather', price: '0.001', upstream },
      { path: '/order', method: 'POST', price: '0.001', upstream },
      { path: '/first', price: '0.001', flow: 'serve-first', timeoutSeconds: 5, upstream },
      {
        path: '/first-order',
        method: 'POST',
        price: '0.001',
        flow: 'serve-first',
        timeoutSeconds: 5,
        upstream,
      },
      { path: '/named', price: '0.001', paymentIdentifier: 'required', upstream },
      { path: '/note', price: '0.001', answer: { body: 'a note' } },
    ],
    {},
    undefined,
    'x402',
    { decorate: soonLate },
  );
  await shop.opened('/weather');
});
afterAll(() => shop?.close());
beforeEach(() => {
  serial += 1;
  // A request of its own for each test.
  url = `${shop.url}/weather?n=${serial}`;
  shop.asked.length = 0;
  shop.upstream = (_asked, count) => ({ status: 200, body: `answer ${count}` });
});

async function customer(): Promise<Customer> {
  return new Customer((await shop.buyer()).secretKey);
}

async function stateOf(response: Response): Promise<string | undefined> {
  return (await shop.ledger.payments.findByName(String(settlementOf(response).transaction)))?.state;
}

describe('a single payment', () => {
  it('buys one request, and the same caller gets the same answer again', async () => {
    const headers = await (await customer()).pays(url);
    const first = await fetch(url, { headers });
    expect([first.status, await first.text()]).toEqual([200, 'answer 1']);
    expect(settlementOf(first)).toMatchObject({ success: true, network: expect.stringMatching(/^solana:/) });
    expect(first.headers.get('cache-control')).toContain('private');
    const again = await fetch(url, { headers });
    expect([again.status, await again.text()]).toEqual([200, 'answer 1']);
    expect(shop.asked).toHaveLength(1);
    expect(await stateOf(first)).toBe('served');
  });

  it('in fifty concurrent requests calls the upstream once, and all requests get its answer', async () => {
    const headers = await (await customer()).pays(url);
    const responses = await Promise.all(Array.from({ length: 50 }, () => fetch(url, { headers })));
    expect(new Set(responses.map(({ status }) => status))).toEqual(new Set([200]));
    const bodies = await Promise.all(responses.map((response) => response.text()));
    expect(new Set(bodies)).toEqual(new Set(['answer 1']));
    expect(shop.asked).toHaveLength(1);
  });

  it('buys nothing for another request', async () => {
    const headers = await (await customer()).pays(url);
    await fetch(url, { headers });
    for (const other of [`${url}&more=1`, `${shop.url}/first`]) {
      const refused = await fetch(other, { headers });
      expect(refused.status).toBe(402);
      expect(settlementOf(refused)).toMatchObject({ success: false, errorReason: 'duplicate_settlement' });
      expect(refused.headers.get('payment-required')).toBeNull();
    }
    expect(shop.asked).toHaveLength(1);
  });

  it('is only reported as used to a sender who has copied it from the chain', async () => {
    const headers = await (await customer()).pays(url);
    await fetch(url, { headers });
    const stranger = await fetch(url, { headers: { ...headers, 'x-forwarded-for': '203.0.113.9' } });
    expect(settlementOf(stranger)).toMatchObject({ errorReason: 'duplicate_settlement' });
    const cookie = { ...(await (await customer()).pays(url)), cookie: 'session=0123456789abcdef' };
    await fetch(url, { headers: cookie });
    const moved = await fetch(url, { headers: { ...cookie, 'x-forwarded-for': '203.0.113.9' } });
    expect(moved.status).toBe(200);
  });

  it('is a duplicate with its signature where its response was deleted after the retention', async () => {
    const { ledger } = shop;
    const headers = await (await customer()).pays(url, {}, 'pay_0123456789abcdef');
    const first = await fetch(url, { headers });
    const { transaction } = settlementOf(first);
    const { id = '' } = (await ledger.payments.findByName(String(transaction))) ?? {};
    await vi.waitFor(
      async () => expect(await ledger.settlements.get(id)).toMatchObject({ status: 'finalized' }),
      20_000,
    );
    const past = sql<Date>`now() - interval '31 days'`;
    await ledger.db
      .updateTable('payment')
      .set({ createdAt: past, servedAt: past })
      .where('id', '=', id)
      .execute();
    expect(await (await fetch(url, { headers })).text()).toBe('answer 1');
    expect(await ledger.payments.deleteOldData(30)).toBe(1n);
    const again = await fetch(url, { headers });
    expect([again.status, again.headers.get('payment-required')]).toEqual([402, null]);
    expect(settlementOf(again)).toMatchObject({ errorReason: 'duplicate_settlement', transaction });
    expect(shop.asked).toHaveLength(1);
  });

  it('buys once, also while an earlier payment of its payer for the same request is being served', async () => {
    const buyer = await customer();
    const [one, two] = [await buyer.pays(url), await buyer.pays(url)];
    let open: (() => void) | undefined;
    const held = new Promise<void>((resolve) => {
      open = resolve;
    });
    shop.hold = () => (shop.asked.length === 1 ? held : Promise.resolve());
    const first = fetch(url, { headers: one });
    await vi.waitFor(() => expect(shop.asked).toHaveLength(1), 20_000);
    const second = await fetch(url, { headers: two });
    expect([second.status, await second.text()]).toEqual([200, 'answer 2']);
    open?.();
    const earlier = await first;
    expect([earlier.status, await earlier.text()]).toEqual([200, 'answer 1']);
    shop.hold = null;
    expect(settlementOf(second).transaction).not.toBe(settlementOf(earlier).transaction);
  });
});

describe('a paid request', () => {
  it('that the upstream refuses gets the refusal, and its payment is refundable', async () => {
    shop.upstream = () => ({ status: 404, body: 'no such city' });
    const headers = await (await customer()).pays(url);
    const response = await fetch(url, { headers });
    expect([response.status, await response.text()]).toEqual([404, 'no such city']);
    expect(await stateOf(response)).toBe('refundable');
  });

  it('without an answer of the upstream is owed, and the workflow serves it', async () => {
    shop.upstream = (_asked, count) => ({ status: count === 1 ? 503 : 200, body: `answer ${count}` });
    const headers = await (await customer()).pays(url);
    const response = await fetch(url, { headers });
    expect([response.status, response.headers.get('retry-after')]).toEqual([502, '2']);
    expect(settlementOf(response)).toMatchObject({ success: true });
    await vi.waitFor(async () => expect(await stateOf(response)).toBe('served'), 30_000);
    const again = await fetch(url, { headers });
    expect([again.status, await again.text()]).toEqual([200, 'answer 2']);
    expect(new Set(shop.asked.map(({ headers: asked }) => asked['idempotency-key'])).size).toBe(1);
  });

  it('with a method that is not idempotent is sent to the upstream only once', async () => {
    shop.upstream = () => ({ status: 500, body: '' });
    const order = `${shop.url}/order?n=${serial}`;
    const init = { method: 'POST', body: '{"pizza":1}' };
    const headers = await (await customer()).pays(order, init);
    const response = await fetch(order, { ...init, headers });
    expect(response.status).toBe(502);
    await vi.waitFor(async () => expect(await stateOf(response)).toBe('refundable'), 30_000);
    expect(shop.asked.map(({ body }) => body)).toEqual(['{"pizza":1}']);
  });

  it('that a killed gateway has begun is served by the workflow', async () => {
    const buyer = await customer();
    const headers = await buyer.pays(url);
    await shop.abandon(url, { headers });
    // A request of the buyer would be served by the gateway.
    await vi.waitFor(async () => {
      const { rows } = await shop.ledger.payments.list({ limit: 200 });
      expect(rows.find(({ payer }) => payer === buyer.address)).toMatchObject({ state: 'served' });
    }, 30_000);
    const again = await fetch(url, { headers });
    expect([again.status, await again.text(), shop.asked.length]).toEqual([200, 'answer 2', 2]);
  });

  it('gets its answer at the same address while it is owed, and for two minutes after it was served', async () => {
    const headers = await (await customer()).pays(url);
    const { transaction } = settlementOf(await fetch(url, { headers }));
    const { id = '' } = (await shop.ledger.payments.findByName(String(transaction))) ?? {};
    const ago = (seconds: number) => sql<Date>`now() - ${seconds} * interval '1 second'`;
    const age = async (servedAt: number) =>
      shop.ledger.db
        .updateTable('payment')
        .set({ paidAt: ago(9_000), servedAt: ago(servedAt) })
        .where('id', '=', id)
        .execute();
    await age(100);
    expect((await fetch(url, { headers })).status).toBe(200);
    await age(130);
    expect(settlementOf(await fetch(url, { headers }))).toMatchObject({
      errorReason: 'duplicate_settlement',
    });
  });

  it('has a state that its buyer can request without a key', async () => {
    const headers = await (await customer()).pays(url);
    const { transaction } = settlementOf(await fetch(url, { headers }));
    const state = await fetch(`${shop.url}/x402/payments/${String(transaction)}`);
    expect(await state.json()).toEqual({ signature: transaction, state: 'served' });
    expect((await fetch(`${shop.url}/x402/payments/${'1'.repeat(64)}`)).status).toBe(404);
  });
});

describe('a priced route', () => {
  it('with serve-first reveals nothing before the payment, and calls the upstream once', async () => {
    const first = `${shop.url}/first?n=${serial}`;
    const headers = await (await customer()).pays(first);
    const response = await fetch(first, { headers });
    expect([response.status, await response.text()]).toEqual([200, 'answer 1']);
    expect(shop.asked).toHaveLength(1);
  });

  it('with serve-first calls the upstream once for many concurrent requests with the payment', async () => {
    const first = `${shop.url}/first?n=${serial}`;
    const headers = await (await customer()).pays(first);
    const responses = await Promise.all(Array.from({ length: 12 }, () => fetch(first, { headers })));
    const bodies = await Promise.all(responses.map((response) => response.text()));
    expect(new Set(bodies)).toEqual(new Set(['answer 1']));
    expect(shop.asked).toHaveLength(1);
  });

  it('with serve-first serves a payment that its buyer has submitted only after it is confirmed', async () => {
    const first = `${shop.url}/first?n=${serial}`;
    shop.upstream = (_asked, count) => ({ status: count === 1 ? 500 : 200, body: `answer ${count}` });
    const buyer = await shop.buyer();
    const quote = await fetchQuote(first, buyer);
    const payload = await submitTransfer(quote, buyer);
    const response = await showPayment(first, buyer, quote, payload);
    expect(settlementOf(response)).toMatchObject({ success: true, transaction: payload.signature });
    expect([response.status, response.headers.get('payment-required')]).toEqual([502, null]);
    await vi.waitFor(async () => expect(await stateOf(response)).toBe('served'), 30_000);
    expect((await showPayment(first, buyer, quote, payload)).status).toBe(200);
    expect(shop.asked).toHaveLength(2);
  });

  it('with serve-first records that it calls the upstream before it does so', async () => {
    const first = `${shop.url}/first?n=${serial}`;
    const buyer = await customer();
    const headers = await buyer.pays(first);
    let askedAt: Date | null = null;
    shop.hold = async () => {
      const { rows } = await shop.ledger.payments.list({ limit: 200 });
      askedAt = rows.find(({ payer }) => payer === buyer.address)?.askedAt ?? null;
    };
    expect((await fetch(first, { headers })).status).toBe(200);
    shop.hold = null;
    expect(askedAt).not.toBeNull();
  });

  it('with serve-first charges nothing where its gateway was killed and the request may not be repeated', async () => {
    const first = `${shop.url}/first-order?n=${serial}`;
    const init = { method: 'POST', body: '{"pizza":1}' };
    const buyer = await customer();
    const headers = await buyer.pays(first, init);
    await shop.abandon(first, { ...init, headers });
    const again = await fetch(first, { ...init, headers });
    expect([again.status, await again.json()]).toEqual([
      502,
      { error: expect.stringContaining('nothing was paid') },
    ]);
    const { rows } = await shop.ledger.payments.list({ limit: 200 });
    expect(rows.find(({ payer }) => payer === buyer.address)).toMatchObject({ state: 'void' });
    expect(shop.asked).toHaveLength(1);
  });

  it('with serve-first charges nothing where the upstream fails', async () => {
    shop.upstream = () => ({ status: 500, body: 'broken' });
    const first = `${shop.url}/first?n=${serial}`;
    const buyer = await customer();
    const headers = await buyer.pays(first);
    const response = await fetch(first, { headers });
    expect([response.status, await response.text()]).toEqual([500, 'broken']);
    const { rows } = await shop.ledger.payments.list({ limit: 200 });
    expect(rows.find(({ payer }) => payer === buyer.address)).toMatchObject({ state: 'void' });
  });

  it('with a static answer needs no upstream', async () => {
    const note = `${shop.url}/note`;
    const response = await fetch(note, { headers: await (await customer()).pays(note) });
    expect([response.status, await response.text(), shop.asked.length]).toEqual([200, 'a note', 0]);
  });

  it('that requires a payment identifier gives the answer to every request with the identifier', async () => {
    const named = `${shop.url}/named?n=${serial}`;
    const buyer = await customer();
    expect((await fetch(named, { headers: await buyer.pays(named) })).status).toBe(400);
    const id = `pay_${'0123456789abcdef'}${serial}`;
    const headers = await buyer.pays(named, {}, id);
    expect((await fetch(named, { headers })).status).toBe(200);
    const elsewhere = await fetch(named, { headers: { ...headers, 'x-forwarded-for': '203.0.113.9' } });
    expect(elsewhere.status).toBe(200);
    const other = await fetch(named, { headers: await buyer.pays(named, {}, id) });
    expect(other.status).toBe(409);
    expect(shop.asked).toHaveLength(1);
  });
});

describe('a payment that its buyer has submitted', () => {
  it('belongs to him by the token of its quote, even if another client sends its bytes earlier', async () => {
    const buyer = await shop.buyer();
    const quote = await fetchQuote(url, buyer);
    const { signature, quoteToken } = await submitTransfer(quote, buyer);
    const options = { encoding: 'base64', commitment: 'confirmed', maxSupportedTransactionVersion: 0 };
    const shown = await rpc<{ transaction: [string, string] }>(shop.rpcUrl, 'getTransaction', [
      signature,
      options,
    ]);
    const [serializedTransaction] = shown.transaction;
    const thief = await showPayment(`${url}&thief`, buyer, quote, { serializedTransaction });
    expect([thief.status, shop.asked.length]).toEqual([402, 0]);
    const response = await showPayment(url, buyer, quote, { signature, quoteToken });
    expect([response.status, shop.asked.length]).toEqual([200, 1]);
    const again = await showPayment(url, buyer, quote, { signature, quoteToken });
    expect([again.status, shop.asked.length]).toEqual([200, 1]);
  });

  it('twice for one quote buys once, and the second is stored as unmatched', async () => {
    const buyer = await shop.buyer();
    const quote = await fetchQuote(url, buyer);
    const one = await submitTransfer(quote, buyer, { version: 'legacy' });
    const two = await submitTransfer(quote, buyer, { version: 0 });
    expect((await showPayment(url, buyer, quote, one)).status).toBe(200);
    expect((await showPayment(url, buyer, quote, two)).status).toBe(402);
    expect(await shop.ledger.payments.findByName(two.signature)).toMatchObject({ state: 'unmatched' });
  });

  it('buys nothing for another client that copies it from the chain', async () => {
    const buyer = await shop.buyer();
    const quote = await fetchQuote(url, buyer);
    const wire = Buffer.from(await signTransfer(quote, buyer)).toString('base64');
    const options = { encoding: 'base64', skipPreflight: true };
    const signature = await rpc<string>(shop.rpcUrl, 'sendTransaction', [wire, options]);
    await vi.waitFor(async () => {
      const statuses = await rpc<{ value: unknown[] }>(shop.rpcUrl, 'getSignatureStatuses', [[signature]]);
      expect(statuses.value[0]).not.toBeNull();
    }, 20_000);
    const copy = await showPayment(url, buyer, quote, { serializedTransaction: wire });
    expect([copy.status, shop.asked.length]).toEqual([402, 0]);
    expect(await shop.ledger.payments.findByName(signature)).toMatchObject({ state: 'unmatched' });
  });
});

describe('a payment that another request settles while its own simulation is slow', () => {
  it('is served', async () => {
    const headers = await (await customer()).pays(url);
    shop.localnet.controls.setFault(0, 'simulateTransaction', { kind: 'delay', ms: 3_000 }, { times: 1 });
    const responses = await Promise.all([1, 2].map(() => fetch(url, { headers })));
    expect(responses.map(({ status }) => status)).toEqual([200, 200]);
    const bodies = await Promise.all(responses.map((response) => response.text()));
    expect(bodies).toEqual(['answer 1', 'answer 1']);
    expect(shop.asked).toHaveLength(1);
  });
});

describe('a payment that cannot be settled', () => {
  it('is refused with fresh terms, at no cost', async () => {
    const poor = new Customer((await shop.buyer(0n)).secretKey);
    const response = await fetch(url, { headers: await poor.pays(url) });
    expect(response.status).toBe(402);
    expect(settlementOf(response)).toMatchObject({
      success: false,
      errorReason: 'invalid_exact_svm_transaction_simulation_failed',
      transaction: '',
    });
    expect(response.headers.get('payment-required')).not.toBeNull();
    expect(await response.json()).toMatchObject({ logs: expect.arrayContaining([expect.any(String)]) });
    expect(shop.asked).toHaveLength(0);
  });

  it('because it is unreadable is a 402 with fresh terms', async () => {
    const response = await fetch(url, { headers: { 'payment-signature': 'not base64!' } });
    expect([response.status, response.headers.get('payment-required') !== null]).toEqual([402, true]);
    const example = await fetch(url, { headers: { 'x-payment': 'e30=' } });
    expect(await example.json()).toMatchObject({ error: 'Payment verification failed' });
  });
});
