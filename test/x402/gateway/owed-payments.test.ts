import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { fetchQuote, showPayment, signTransfer } from '../../peers/example-client.ts';
import { Customer, fetchUntilSettled, settlementOf } from './customer.ts';
import { expectPending, ManualClockShop } from './manual-clock-shop.ts';

let fixture: ManualClockShop;
let url: string;
let landedBefore: readonly string[];

beforeAll(async () => {
  fixture = await ManualClockShop.open((upstream) => [
    { path: '/weather', price: '0.001', upstream },
    { path: '/order', method: 'POST', price: '0.001', upstream },
    { path: '/large', price: '0.001', finalizedAbove: '0.0005', upstream },
  ]);
  await fixture.shop.opened('/weather');
});
afterAll(() => fixture?.close());
beforeEach(async () => {
  await fixture.clock.pause();
  fixture.controls.clearFaults();
  landedBefore = await fixture.landed();
  // The workflow serves an owed payment only once it is final.
  const { slot } = fixture.controls.chain.at('finalized');
  fixture.controls.setFault(0, '*', { kind: 'stuck-finality', slot });
  fixture.clock.run();
  fixture.shop.asked.length = 0;
  url = fixture.url('/weather');
});

/** A payment that is confirmed while the upstream fails. */
async function owedBy(buyer: Customer, identifier?: string): Promise<string> {
  fixture.shop.upstream = () => ({ status: 503, body: '' });
  const { headers } = await fixture.prepare(url, buyer, {}, identifier);
  const response = await fetchUntilSettled(url, headers);
  expect(response.status).toBe(502);
  fixture.shop.asked.length = 0;
  fixture.shop.upstream = (_asked, count) => ({ status: 200, body: `answer ${count}` });
  return String(settlementOf(response)['transaction']);
}

/** Signatures of the payments of this test, once all of them are final. */
async function expectLanded(signatures: readonly string[]): Promise<void> {
  fixture.controls.clearFaults();
  await fixture.clock.pause();
  fixture.controls.produceSlots(40);
  const landed = await fixture.landed();
  const own = landed.filter((signature) => !landedBefore.includes(signature));
  expect(new Set(own)).toEqual(new Set(signatures));
  expect(own).toHaveLength(signatures.length);
}

describe('a new payment for a request whose earlier payment is owed and served by no process', () => {
  it('is not settled: the earlier payment is served in its place, also to repeats of the new one', async () => {
    const buyer = await fixture.customer();
    const owed = await owedBy(buyer);
    const { headers } = await fixture.prepare(url, buyer);
    fixture.shop.upstream = () => ({ status: 503, body: '' });
    const failed = await fetch(url, { headers });
    expect([failed.status, settlementOf(failed)['transaction']]).toEqual([502, owed]);
    fixture.shop.asked.length = 0;
    fixture.shop.upstream = () => ({ status: 200, body: 'the weather' });
    for (const response of await Promise.all([1, 2, 3].map(() => fetch(url, { headers })))) {
      expect([response.status, await response.text()]).toEqual([200, 'the weather']);
      expect(settlementOf(response)).toMatchObject({ success: true, transaction: owed });
    }
    expect(fixture.shop.asked).toHaveLength(1);
    const stranger = await fetch(url, { headers: { ...headers, 'x-forwarded-for': '203.0.113.9' } });
    expect(settlementOf(stranger)).toMatchObject({ errorReason: 'duplicate_settlement', transaction: owed });
    await expectLanded([owed]);
  });

  it('is never settled, even if its gateway stops while the upstream answers', async () => {
    const { shop } = fixture;
    const buyer = await fixture.customer();
    const owed = await owedBy(buyer);
    const { headers } = await fixture.prepare(url, buyer);
    await shop.abandon(url, { headers });
    const again = await fetch(url, { headers });
    expect([again.status, await again.text()]).toEqual([200, 'answer 2']);
    expect(settlementOf(again)['transaction']).toBe(owed);
    await expectLanded([owed]);
  });

  it('is not settled if it has the payment identifier of the earlier one', async () => {
    const buyer = await fixture.customer();
    const identifier = 'pay_0123456789abcdef';
    const owed = await owedBy(buyer, identifier);
    const { headers } = await fixture.prepare(url, buyer, {}, identifier);
    const elsewhere = { ...headers, 'x-forwarded-for': '203.0.113.9' };
    for (const response of [await fetch(url, { headers }), await fetch(url, { headers: elsewhere })]) {
      expect([response.status, await response.text()]).toEqual([200, 'answer 1']);
      expect(settlementOf(response)['transaction']).toBe(owed);
    }
    await expectLanded([owed]);
  });

  it('is settled, except for one of several concurrent ones', async () => {
    const buyer = await fixture.customer();
    const owed = await owedBy(buyer);
    const later = await Promise.all(Array.from({ length: 6 }, () => fixture.prepare(url, buyer)));
    const responses = await Promise.all(later.map(({ headers }) => fetchUntilSettled(url, headers)));
    expect(responses.map(({ status }) => status)).toEqual(later.map(() => 200));
    const signatures = responses.map((response) => String(settlementOf(response)['transaction']));
    expect(new Set(signatures).size).toBe(later.length);
    expect(signatures).toContain(owed);
    const bodies = await Promise.all(responses.map((response) => response.text()));
    expect(new Set(bodies).size).toBe(later.length);
    await expectLanded(signatures);
  });

  it('is settled where the earlier one may not be sent to the upstream again', async () => {
    const order = fixture.url('/order');
    const init = { method: 'POST', body: '{"pizza":1}' };
    const buyer = await fixture.customer();
    const shown: string[] = [];
    for (const status of [503, 200]) {
      fixture.shop.upstream = () => ({ status, body: 'an answer' });
      const { headers } = await fixture.prepare(order, buyer, init);
      const response = await fetchUntilSettled(order, headers, init);
      expect(response.status).toBe(status === 200 ? 200 : 502);
      shown.push(String(settlementOf(response)['transaction']));
    }
    expect(new Set(shown).size).toBe(2);
    await expectLanded(shown);
  });

  it('is sent to no node, even if its buyer has signed it completely', async () => {
    const buyer = await fixture.shop.buyer();
    const owed = await owedBy(new Customer(buyer.secretKey));
    const quote = await fetchQuote(url, buyer);
    const serializedTransaction = Buffer.from(await signTransfer(quote, buyer)).toString('base64');
    for (const method of ['simulateTransaction', 'sendTransaction'])
      fixture.controls.setFault(0, method, { kind: 'error', code: -32_000, message: 'not expected' });
    const response = await showPayment(url, buyer, quote, { serializedTransaction });
    expect(response.status).toBe(200);
    expect(await response.json()).toMatchObject({ data: 'answer 1', paymentDetails: { signature: owed } });
    await expectLanded([owed]);
  });

  it('copied from the chain is recorded as a copy, and the earlier payment stays owed', async () => {
    const buyer = await fixture.shop.buyer();
    const customer = new Customer(buyer.secretKey);
    const owed = await owedBy(customer);
    const quote = await fetchQuote(url, buyer);
    const wire = Buffer.from(await signTransfer(quote, buyer)).toString('base64');
    const copied = await fixture.send(wire);
    const response = await showPayment(url, buyer, quote, { serializedTransaction: wire });
    expect(settlementOf(response)).toMatchObject({
      errorReason: 'duplicate_settlement',
      transaction: copied,
    });
    expect(await fixture.shop.ledger.payments.findByName(owed)).toMatchObject({ state: 'owed' });
    expect(fixture.shop.asked).toHaveLength(0);
  });
});

it('a payment above finalizedAbove is served only once it is final', async () => {
  const large = fixture.url('/large');
  const { headers, buyer } = await fixture.prepare(large);
  const signature = await expectPending(await fetch(large, { headers }));
  const { id } = await fixture.paymentOf(buyer);
  await fixture.reaches(id, 'owed');
  expect(await expectPending(await fetch(large, { headers }))).toBe(signature);
  expect(fixture.shop.asked).toEqual([]);
  fixture.controls.clearFaults();
  const isServed = async () => expect((await fetch(large, { headers })).status).toBe(200);
  await vi.waitFor(isServed, { timeout: 60_000, interval: 100 });
  expect(fixture.shop.asked).toHaveLength(1);
});
