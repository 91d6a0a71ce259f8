import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { fetchQuote, showPayment, signTransfer } from '../../peers/example-client.ts';
import { Customer, fetchUntilSettled, settlementOf } from './customer.ts';
import { ManualClockShop } from './manual-clock-shop.ts';

let standing: ManualClockShop;
let url: string;
let landedBefore: readonly string[];

beforeAll(async () => {
  standing = await ManualClockShop.open((upstream) => [
    { path: '/weather', price: '0.001', upstream },
    { path: '/order', method: 'POST', price: '0.001', upstream },
  ]);
  await standing.shop.opened('/weather');
});
afterAll(() => standing?.close());
beforeEach(async () => {
  await standing.clock.pause();
  standing.controls.clearFaults();
  landedBefore = await standing.landed();
  // The workflow serves an owed payment only once it is final.
  const { slot } = standing.controls.chain.at('finalized');
  standing.controls.setFault(0, '*', { kind: 'stuck-finality', slot });
  standing.clock.run();
  standing.shop.asked.length = 0;
  url = standing.url('/weather');
});

/** A payment that is confirmed while the upstream fails. */
async function owedBy(buyer: Customer): Promise<string> {
  standing.shop.upstream = () => ({ status: 503, body: '' });
  const { headers } = await standing.prepare(url, buyer);
  const response = await fetchUntilSettled(url, headers);
  expect(response.status).toBe(502);
  standing.shop.asked.length = 0;
  standing.shop.upstream = (_asked, count) => ({ status: 200, body: `answer ${count}` });
  return String(settlementOf(response)['transaction']);
}

/** Signatures of the payments of this test, once all of them are final. */
async function expectLanded(signatures: readonly string[]): Promise<void> {
  standing.controls.clearFaults();
  await standing.clock.pause();
  standing.controls.produceSlots(40);
  const landed = await standing.landed();
  const own = landed.filter((signature) => !landedBefore.includes(signature));
  expect(new Set(own)).toEqual(new Set(signatures));
  expect(own).toHaveLength(signatures.length);
}

describe('a new payment for a request whose earlier payment is owed and served by no process', () => {
  it('is not settled: the earlier payment is served in its place, also to repeats of the new one', async () => {
    const buyer = await standing.customer();
    const owed = await owedBy(buyer);
    const { headers } = await standing.prepare(url, buyer);
    standing.shop.upstream = () => ({ status: 503, body: '' });
    const failed = await fetch(url, { headers });
    expect([failed.status, settlementOf(failed)['transaction']]).toEqual([502, owed]);
    standing.shop.asked.length = 0;
    standing.shop.upstream = () => ({ status: 200, body: 'the weather' });
    for (const response of await Promise.all([1, 2, 3].map(() => fetch(url, { headers })))) {
      expect([response.status, await response.text()]).toEqual([200, 'the weather']);
      expect(settlementOf(response)).toMatchObject({ success: true, transaction: owed });
    }
    expect(standing.shop.asked).toHaveLength(1);
    const stranger = await fetch(url, { headers: { ...headers, 'x-forwarded-for': '203.0.113.9' } });
    expect(settlementOf(stranger)).toMatchObject({ errorReason: 'duplicate_settlement', transaction: owed });
    await expectLanded([owed]);
  });

  it('is settled, except for one of several concurrent ones', async () => {
    const buyer = await standing.customer();
    const owed = await owedBy(buyer);
    const later = await Promise.all(Array.from({ length: 6 }, () => standing.prepare(url, buyer)));
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
    const order = standing.url('/order');
    const init = { method: 'POST', body: '{"pizza":1}' };
    const buyer = await standing.customer();
    const shown: string[] = [];
    for (const status of [503, 200]) {
      standing.shop.upstream = () => ({ status, body: 'an answer' });
      const { headers } = await standing.prepare(order, buyer, init);
      const response = await fetchUntilSettled(order, headers, init);
      expect(response.status).toBe(status === 200 ? 200 : 502);
      shown.push(String(settlementOf(response)['transaction']));
    }
    expect(new Set(shown).size).toBe(2);
    await expectLanded(shown);
  });

  it('is sent to no node, even if its buyer has signed it completely', async () => {
    const buyer = await standing.shop.buyer();
    const owed = await owedBy(new Customer(buyer.secretKey));
    const quote = await fetchQuote(url, buyer);
    const serializedTransaction = Buffer.from(await signTransfer(quote, buyer)).toString('base64');
    for (const method of ['simulateTransaction', 'sendTransaction'])
      standing.controls.setFault(0, method, { kind: 'error', code: -32_000, message: 'not expected' });
    const response = await showPayment(url, buyer, quote, { serializedTransaction });
    expect(response.status).toBe(200);
    expect(await response.json()).toMatchObject({ data: 'answer 1', paymentDetails: { signature: owed } });
    await expectLanded([owed]);
  });

  it('copied from the chain is recorded as a copy, and the earlier payment stays owed', async () => {
    const buyer = await standing.shop.buyer();
    const customer = new Customer(buyer.secretKey);
    const owed = await owedBy(customer);
    const quote = await fetchQuote(url, buyer);
    const wire = Buffer.from(await signTransfer(quote, buyer)).toString('base64');
    const copied = await standing.send(wire);
    const response = await showPayment(url, buyer, quote, { serializedTransaction: wire });
    expect(settlementOf(response)).toMatchObject({
      errorReason: 'duplicate_settlement',
      transaction: copied,
    });
    expect(await standing.shop.ledger.payments.findByName(owed)).toMatchObject({ state: 'owed' });
    expect(standing.shop.asked).toHaveLength(0);
  });
});
