import { afterAll, beforeAll, beforeEach, expect, it, vi } from 'vitest';
import { fetchQuote, showPayment, signTransfer } from '../../peers/example-client.ts';
import { fetchUntilSettled } from './customer.ts';
import { ManualClockShop } from './manual-clock-shop.ts';

const LONG_MS = 240_000;
let manual: ManualClockShop;

beforeAll(async () => {
  manual = await ManualClockShop.open((upstream) => [
    { path: '/weather', price: '0.001', upstream },
    { path: '/first', price: '0.001', flow: 'serve-first', timeoutSeconds: 5, upstream },
  ]);
  await manual.shop.opened('/weather');
});
afterAll(() => manual?.close());
beforeEach(async () => {
  await manual.clock.pause();
  manual.controls.clearFaults();
  manual.shop.asked.length = 0;
  manual.shop.upstream = (_asked, count) => ({ status: 200, body: `answer ${count}` });
});

/** A new payment in the interface's header. `present` sends it until its outcome is known. */
async function preparePayment(url = manual.url('/weather')) {
  const buyer = await manual.shop.buyer();
  const quote = await fetchQuote(url, buyer);
  const serializedTransaction = Buffer.from(await signTransfer(quote, buyer)).toString('base64');
  const fetch = (_url: unknown, { headers }: RequestInit = {}) =>
    fetchUntilSettled(url, headers as Record<string, string>);
  const present = async () => {
    const response = await showPayment(url, { ...buyer, fetch }, quote, { serializedTransaction });
    const body = (await response.json()) as Record<string, unknown>;
    return { status: response.status, body, hasQuote: 'payment' in body };
  };
  return { present, buyer };
}

/** Sends the payment again until it buys, as a client does after Retry-After. */
function expectBought(present: () => Promise<object>, body: object): Promise<void> {
  return vi.waitFor(async () => expect(await present()).toMatchObject({ status: 200, body }), 60_000);
}

/** Waits until the finalized blocks contain exactly these payments of the seller, newest first. */
function expectLanded(signatures: readonly unknown[]): Promise<void> {
  return vi.waitFor(async () => expect(await manual.landed()).toEqual(signatures), 60_000);
}

it(
  'a payment whose simulation fails gets the error, the details and the logs of the simulation',
  async () => {
    const { present, buyer } = await preparePayment();
    await manual.controls.setFrozen(manual.shop.localnet.plantedMint.address, buyer.address, true);
    expect(await present()).toMatchObject({
      status: 402,
      hasQuote: true,
      body: {
        error: 'Transaction simulation failed',
        details: expect.stringContaining('InstructionError'),
        logs: expect.arrayContaining([expect.stringContaining('frozen')]),
      },
    });
  },
  LONG_MS,
);

it(
  'a payment that no node can simulate gets the error of the interface, or 503 in version 2, and buys when a node simulates it',
  async () => {
    const before = await manual.landed();
    const { present } = await preparePayment();
    const url = manual.url('/weather');
    const version2 = await manual.prepare(url);
    manual.controls.setFault(0, 'simulateTransaction', { kind: 'http', status: 500 });
    expect(await present()).toMatchObject({
      status: 402,
      hasQuote: false,
      body: { error: 'Failed to simulate transaction', details: expect.any(String) },
    });
    const refused = await fetch(url, { headers: version2.headers });
    expect([refused.status, refused.headers.get('payment-required')]).toEqual([503, null]);

    manual.controls.clearFaults();
    manual.clock.run();
    await expectBought(present, { data: 'answer 1' });
    await expectLanded([expect.any(String), ...before]);
    expect((await fetchUntilSettled(url, version2.headers)).status).toBe(200);
    await expectLanded([expect.any(String), expect.any(String), ...before]);
  },
  LONG_MS,
);

it(
  'a payment whose status no node returns is not admitted, and buys when a node returns it',
  async () => {
    const before = await manual.landed();
    const { present } = await preparePayment();
    manual.controls.setFault(0, 'getSignatureStatuses', { kind: 'http', status: 500 });
    expect(await present()).toMatchObject({
      status: 402,
      hasQuote: false,
      body: { details: expect.stringContaining('no node returns the status') },
    });
    manual.controls.clearFaults();
    manual.clock.run();
    await expectBought(present, { data: expect.stringContaining('answer') });
    await expectLanded([expect.any(String), ...before]);
  },
  LONG_MS,
);

it(
  'a payment that fails on chain gets the error of the interface and a quote, and buys nothing',
  async () => {
    const before = await manual.landed();
    const { present, buyer } = await preparePayment();
    // The next block freezes the tokens of the buyer: the simulation succeeds, and the payment fails after it.
    manual.controls.queueFrozen(manual.shop.localnet.plantedMint.address, buyer.address, true);
    const answer = present();
    await manual.paymentOf(buyer);
    manual.clock.run();
    expect(await answer).toMatchObject({
      status: 402,
      hasQuote: true,
      body: { error: 'Transaction failed on-chain', details: expect.any(String) },
    });
    expect(await manual.landed()).toEqual(before);
    expect(manual.shop.asked).toEqual([]);
  },
  LONG_MS,
);

it(
  'a confirmed payment that no node returns gets the error of the interface, is owed, and buys once a node returns it',
  async () => {
    const before = await manual.landed();
    const { present, buyer } = await preparePayment();
    manual.controls.setFault(0, 'getTransaction', { kind: 'null' });
    manual.clock.run();
    const { status, hasQuote, body } = await present();
    expect([status, hasQuote]).toEqual([402, false]);
    expect(body).toMatchObject({ error: 'Could not fetch confirmed transaction' });
    const signature = String(body['transaction']);
    await manual.reaches((await manual.paymentOf(buyer)).id, 'owed');
    expect(manual.shop.asked).toEqual([]);

    manual.controls.clearFaults();
    await expectBought(present, { data: 'answer 1', paymentDetails: { signature } });
    await expectLanded([signature, ...before]);
    expect(manual.shop.asked).toHaveLength(1);
  },
  LONG_MS,
);

it(
  'a payment that was never sent, because the upstream failed, is not reported as failed on chain',
  async () => {
    manual.shop.upstream = () => ({ status: 500, body: '{}' });
    const { present } = await preparePayment(manual.url('/first'));
    expect(await present()).toMatchObject({ status: 500 });
    expect(await present()).toMatchObject({
      status: 402,
      hasQuote: true,
      body: {
        error: 'Payment verification failed',
        details: 'the upstream returned 500',
      },
    });
  },
  LONG_MS,
);
