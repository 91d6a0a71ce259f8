import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { Fault } from '../../../devkit/localnet/faults.ts';
import { fetchQuote, showPayment, signTransfer } from '../../peers/example-client.ts';
import { fetchUntilSettled, settlementOf } from './customer.ts';
import { expectPending, ManualClockShop } from './manual-clock-shop.ts';

const LONG_MS = 240_000;
let standing: ManualClockShop;
let url: string;

beforeAll(async () => {
  standing = await ManualClockShop.open((upstream) => [{ path: '/weather', price: '0.001', upstream }]);
  await standing.shop.opened('/weather');
});
afterAll(() => standing?.close());
beforeEach(async () => {
  await standing.clock.pause();
  standing.controls.clearFaults();
  const { shop } = standing;
  shop.asked.length = 0;
  shop.upstream = (_asked, count) => ({ status: 200, body: `answer ${count}` });
  url = standing.url('/weather');
});

async function stateShown(signature: string): Promise<unknown> {
  return (await fetch(`${standing.shop.url}/x402/payments/${signature}`)).json();
}

describe('a payment that every node has dropped', () => {
  it(
    'is pending until it is proved dead, and only then its buyer gets a new request for payment',
    async () => {
      const { controls, shop } = standing;
      const { headers, buyer } = await standing.prepare(url);
      const before = await standing.landed();
      controls.setFault(0, 'sendTransaction', { kind: 'drop-send' });
      const signature = await expectPending(await fetch(url, { headers }));
      expect(await stateShown(signature)).toEqual({ signature, state: 'settling' });

      // The blockhash expires, but the chain does not report it as finally expired.
      const slot = controls.chain.at('finalized').slot;
      controls.setFault(0, '*', { kind: 'stuck-finality', slot });
      standing.expireBlockhashes();
      expect(await expectPending(await fetch(url, { headers }))).toBe(signature);

      controls.clearFaults(0, '*');
      await standing.reaches((await standing.paymentOf(buyer)).id, 'void');
      const ended = await fetch(url, { headers });
      expect([ended.status, ended.headers.get('payment-required') !== null]).toEqual([402, true]);
      expect(settlementOf(ended)).toMatchObject({
        success: false,
        errorReason: 'payment_expired',
        transaction: signature,
      });
      expect(await stateShown(signature)).toEqual({ signature, state: 'void' });
      expect(await standing.statusOf(signature)).toBeNull();
      expect(await standing.landed()).toEqual(before);
      expect(shop.asked).toHaveLength(0);

      controls.clearFaults();
      standing.clock.run();
      const next = await standing.prepare(url, buyer);
      const paid = await fetchUntilSettled(url, next.headers);
      expect([paid.status, await paid.text()]).toEqual([200, 'answer 1']);
      const again = await fetch(url, { headers: next.headers });
      expect([again.status, await again.text()]).toEqual([200, 'answer 1']);
      await standing.finalized((await standing.paymentOf(buyer)).id);
      expect(await standing.landed()).toEqual([settlementOf(paid)['transaction'], ...before]);
      expect(shop.asked).toHaveLength(1);
    },
    LONG_MS,
  );
});

describe('a payment is settled once and served once where the node', () => {
  it.each<readonly [string, Fault, number | undefined]>([
    ['accepts it and breaks the connection', { kind: 'lost-answer' }, 1],
    ['accepts it and breaks the connection each time', { kind: 'lost-answer' }, undefined],
    ['breaks the connection three times before it accepts it', { kind: 'drop' }, 3],
    ['answers three times and drops it', { kind: 'drop-send' }, 3],
  ])(
    '%s',
    async (_what, fault, times) => {
      const { controls, shop } = standing;
      const { headers, buyer } = await standing.prepare(url);
      const before = await standing.landed();
      const met = () => controls.faultsMet()[fault.kind] ?? 0;
      const metBefore = met();
      controls.setFault(0, 'sendTransaction', fault, times === undefined ? {} : { times });
      standing.clock.run();
      const response = await fetchUntilSettled(url, headers);
      expect([response.status, await response.text()]).toEqual([200, 'answer 1']);
      expect(met() - metBefore).toBeGreaterThanOrEqual(times ?? 1);
      const again = await fetch(url, { headers });
      expect([again.status, await again.text()]).toEqual([200, 'answer 1']);
      const { id } = await standing.paymentOf(buyer);
      await standing.finalized(id);
      expect(await standing.landed()).toEqual([settlementOf(response)['transaction'], ...before]);
      expect((await shop.ledger.attempts.of(id)).map(({ state }) => state)).toEqual(['landed']);
      expect(await shop.ledger.payments.get(id)).toMatchObject({ state: 'served' });
      expect(shop.asked).toHaveLength(1);
    },
    LONG_MS,
  );
});

describe('a payment that its buyer has signed completely and sent', () => {
  it('long ago is recorded as unmatched, and its buyer gets no request for payment', async () => {
    const { shop } = standing;
    const buyer = await shop.buyer();
    const quote = await fetchQuote(url, buyer);
    const wire = Buffer.from(await signTransfer(quote, buyer)).toString('base64');
    standing.clock.run();
    const signature = await standing.send(wire);
    await standing.clock.pause();
    standing.expireBlockhashes();
    const response = await showPayment(url, buyer, quote, { serializedTransaction: wire });
    expect([response.status, response.headers.get('payment-required')]).toEqual([402, null]);
    expect(settlementOf(response)).toMatchObject({
      errorReason: 'duplicate_settlement',
      transaction: signature,
    });
    expect(await shop.ledger.payments.findByName(signature)).toMatchObject({ state: 'unmatched' });
  });
});
