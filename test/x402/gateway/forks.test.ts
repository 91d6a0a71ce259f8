import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import type { PaymentRow } from '../../../src/ledger/x402/payments.ts';
import { type Customer, fetchUntilSettled, settlementOf } from './customer.ts';
import { expectPending, ManualClockShop } from './manual-clock-shop.ts';

const LONG_MS = 240_000;
const PATIENT = { timeout: 60_000, interval: 100 };
let fixture: ManualClockShop;
let url: string;

beforeAll(async () => {
  fixture = await ManualClockShop.open((upstream) => [{ path: '/weather', price: '0.001', upstream }]);
  await fixture.shop.opened('/weather');
});
afterAll(() => fixture?.close());
beforeEach(async () => {
  await fixture.clock.pause();
  const { controls, shop } = fixture;
  controls.clearFaults();
  // A fork reverts blocks above the finalized one: the chain must have some.
  controls.produceSlots(20);
  shop.asked.length = 0;
  shop.upstream = (_asked, count) => ({ status: 200, body: `answer ${count}` });
  url = fixture.url('/weather');
});

interface Shown {
  readonly payment: PaymentRow;
  readonly response: Response;
  readonly signature: string;
  readonly headers: Record<string, string>;
  readonly buyer: Customer;
}

/**
 * Sends a new payment, makes blocks until it is confirmed and no further, and waits for the buyer's answer. From its landing on the node
 * drops new sends: after a fork no transaction waits for the next block.
 */
async function confirmed(): Promise<Shown> {
  const { headers, buyer } = await fixture.prepare(url);
  const answer = fetchUntilSettled(url, headers);
  const { id } = await fixture.paymentOf(buyer);
  const signature = await vi.waitFor(async () => {
    const [attempt] = await fixture.shop.ledger.attempts.of(id);
    if (typeof attempt?.signature !== 'string') throw new Error('it is not signed yet');
    return attempt.signature;
  }, PATIENT);
  const { controls } = fixture;
  await vi.waitFor(
    async () => {
      controls.produceSlot();
      expect(await fixture.statusOf(signature)).toBe('processed');
    },
    // So few blocks that its blockhash stays valid.
    { timeout: 60_000, interval: 500 },
  );
  controls.setFault(0, 'sendTransaction', { kind: 'drop-send' });
  controls.produceSlot();
  expect(await fixture.statusOf(signature)).toBe('confirmed');
  const response = await answer;
  return { payment: await fixture.shop.ledger.payments.get(id), response, signature, headers, buyer };
}

/** Reverts the confirmed block of the payment and the block above it. */
async function takeBack({ signature }: Shown): Promise<void> {
  fixture.controls.fork(2);
  expect(await fixture.statusOf(signature)).toBeNull();
}

/** The messages of the open alerts of a payment. */
async function alertsOf({ payment: { id } }: Shown): Promise<readonly string[]> {
  const alerts = await fixture.shop.ledger.alerts.listOpenAbout(id);
  return alerts.filter(({ kind }) => kind === 'confirmed_taken_back').map(({ message }) => message);
}

async function alerted(shown: Shown, what: string): Promise<void> {
  await vi.waitFor(
    async () => expect(await alertsOf(shown)).toEqual([expect.stringContaining(what)]),
    PATIENT,
  );
}

/** The chain continues, with nodes that accept sends. */
function resume(): void {
  fixture.controls.clearFaults();
  fixture.clock.run();
}

describe('a payment that a fork reverts before it is served', () => {
  it(
    'is unpaid until the same bytes land again, and is then served once',
    async () => {
      const { shop } = fixture;
      const before = await fixture.landed();
      let isBroken = true;
      shop.upstream = (_asked, count) =>
        isBroken ? { status: 500, body: 'broken' } : { status: 200, body: `answer ${count}` };
      const shown = await confirmed();
      const { response, payment, signature, headers } = shown;
      expect([response.status, response.headers.get('payment-required')]).toEqual([502, null]);
      expect(settlementOf(response)).toMatchObject({ success: true, transaction: signature });
      expect(payment.state).toBe('owed');
      expect(await alertsOf(shown)).toEqual([]);

      await takeBack(shown);
      await fixture.reaches(payment.id, 'settling');
      await alerted(shown, 'its transaction is sent again');
      isBroken = false;
      expect(await expectPending(await fetch(url, { headers }))).toBe(signature);
      expect(shop.asked).toHaveLength(1);

      resume();
      await vi.waitFor(async () => {
        const again = await fetch(url, { headers });
        expect([again.status, await again.text()]).toEqual([200, 'answer 2']);
      }, PATIENT);
      await fixture.finalized(payment.id);
      expect(await shop.ledger.payments.get(payment.id)).toMatchObject({ state: 'served' });
      expect(await fixture.landed()).toEqual([signature, ...before]);
      expect(await alertsOf(shown)).toEqual([]);
      expect(shop.asked.map(({ headers: asked }) => asked['idempotency-key'])).toEqual([
        payment.id,
        payment.id,
      ]);
    },
    LONG_MS,
  );

  it(
    'is void where it never lands again, and only then its buyer gets a new request for payment',
    async () => {
      const { shop } = fixture;
      const before = await fixture.landed();
      shop.upstream = () => ({ status: 500, body: 'broken' });
      const shown = await confirmed();
      const { response, payment, signature, headers } = shown;
      expect([response.status, payment.state]).toEqual([502, 'owed']);
      await takeBack(shown);
      await fixture.reaches(payment.id, 'settling');
      fixture.expireBlockhashes();
      await fixture.reaches(payment.id, 'void');
      await alerted(shown, 'the transaction can no longer land');
      const ended = await fetch(url, { headers });
      expect([ended.status, ended.headers.get('payment-required') !== null]).toEqual([402, true]);
      expect(settlementOf(ended)).toMatchObject({ errorReason: 'payment_expired', transaction: signature });
      expect(await fixture.landed()).toEqual(before);
      expect(shop.asked).toHaveLength(1);
    },
    LONG_MS,
  );
});

describe('a payment that a fork reverts after it was served', () => {
  it(
    'stays served, with an alert until the same bytes are final',
    async () => {
      const { shop } = fixture;
      const before = await fixture.landed();
      const shown = await confirmed();
      const { response, payment, signature, headers } = shown;
      expect([response.status, await response.text(), payment.state]).toEqual([200, 'answer 1', 'served']);
      await takeBack(shown);
      await alerted(
        shown,
        'after it was confirmed, and its purchase may have been served; its transaction is sent again',
      );
      const meanwhile = await fetch(url, { headers });
      expect([meanwhile.status, await meanwhile.text()]).toEqual([200, 'answer 1']);
      expect(await shop.ledger.payments.get(payment.id)).toMatchObject({ state: 'served' });

      resume();
      await fixture.finalized(payment.id);
      expect(await alertsOf(shown)).toEqual([]);
      expect(await fixture.landed()).toEqual([signature, ...before]);
      expect(await shop.ledger.payments.get(payment.id)).toMatchObject({ state: 'served' });
      expect(shop.asked).toHaveLength(1);
    },
    LONG_MS,
  );

  it(
    'stays served where it never lands again, and its route is closed until an operator acknowledges the alert',
    async () => {
      const { shop } = fixture;
      const before = await fixture.landed();
      const shown = await confirmed();
      const { response, payment, headers } = shown;
      expect([response.status, payment.state]).toEqual([200, 'served']);
      await takeBack(shown);
      await alerted(shown, 'its transaction is sent again');
      fixture.expireBlockhashes();
      await alerted(shown, 'the transaction can no longer land');
      expect(await shop.ledger.payments.get(payment.id)).toMatchObject({ state: 'served' });
      const again = await fetch(url, { headers });
      expect([again.status, await again.text()]).toEqual([200, 'answer 1']);
      expect(await fixture.landed()).toEqual(before);
      expect(shop.asked).toHaveLength(1);

      const answers = async (status: number) =>
        vi.waitFor(async () => expect((await fetch(fixture.url('/weather'))).status).toBe(status), PATIENT);
      await answers(503);
      const { alerts } = shop.ledger;
      const positions = (await alerts.listOpenAbout(payment.id)).map(({ position }) => position);
      await alerts.acknowledge(positions, { actor: 'a test', reason: 'written off' });
      await answers(402);
    },
    LONG_MS,
  );
});
