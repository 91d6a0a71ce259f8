import { sql } from 'kysely';
import { afterEach, describe, expect, it } from 'vitest';
import type { WebhookTopic } from '../../../src/domain/webhook.ts';
import { FETCH_WITHIN_MS } from '../../../src/ledger/x402/obligations.ts';
import type { NewPayment, UnmatchedPayment } from '../../../src/ledger/x402/payments.ts';
import { hex, newPayment } from '../new-payment.ts';
import { attempt, DEAD, newId, PLENTY, useLedger } from '../support.ts';

const use = useLedger();
const ANSWER = { status: 200, headers: {}, body: 'aGVsbG8=' };

afterEach(async () => {
  for (const { id } of await use.ledger.webhooks.list()) await use.ledger.webhooks.remove(id);
});

async function subscribe(...events: WebhookTopic[]): Promise<string> {
  return (await use.ledger.webhooks.put(`https://${newId('receiver')}.example/`, events)).row.id;
}

interface Sent {
  readonly type: string;
  readonly data: Readonly<Record<string, unknown>>;
}

/** The events of a payment that an endpoint receives, in order. */
async function eventsFor(endpoint: string, id: string): Promise<readonly Sent[]> {
  const rows = await use.ledger.db
    .selectFrom('webhookDelivery as delivery')
    .innerJoin('webhookEvent as event', 'event.sequence', 'delivery.sequence')
    .select(['event.body', 'event.type'])
    .where('delivery.endpoint', '=', endpoint)
    .where('delivery.entity', '=', `payment/${id}`)
    .orderBy('delivery.sequence')
    .execute();
  return rows.map(({ body, type }) => {
    const event = JSON.parse(body) as Sent;
    expect(event.type).toBe(type);
    return event;
  });
}

const statesOf = (events: readonly Sent[]) => events.map(({ type, data }) => `${type} ${String(data.state)}`);

/** A payment with a signed attempt. */
async function signed(change: Partial<NewPayment> = {}): Promise<string> {
  const payment = newPayment(change);
  await use.ledger.payments.open(payment);
  await use.ledger.attempts.prepare(attempt(payment.id), PLENTY);
  await use.ledger.attempts.storeSignature(payment.id, 1, `sig-${payment.id}`);
  return payment.id;
}

const confirm = (id: string) => use.ledger.settlements.note(id, 'confirmed', null);

function land(id: string, amountReceived = 1_000n): Promise<unknown> {
  return use.ledger.attempts.settle(id, 1, { state: 'landed', slot: 7n, proof: null, amountReceived });
}

function unmatched(): UnmatchedPayment {
  const { request: _request, answer: _answer, lease: _lease, ...row } = newPayment({ signature: hex() });
  return { ...row, reason: 'it was on chain before' };
}

describe('a payment of a buyer has an event', () => {
  it('when it is owed, served and settled, once for each, with what the API returns of it', async () => {
    const endpoint = await subscribe('payment.*');
    const id = await signed();
    const { obligations, payments } = use.ledger;
    for (let again = 0; again < 2; again += 1) await confirm(id);
    for (let again = 0; again < 2; again += 1) await obligations.markServed(id, 200, ANSWER);
    for (let again = 0; again < 2; again += 1) await land(id);
    const events = await eventsFor(endpoint, id);
    expect(statesOf(events)).toEqual([
      'payment.owed owed',
      'payment.served served',
      'payment.settled served',
    ]);
    const row = await payments.get(id);
    expect(events.at(-1)?.data).toEqual({
      id,
      state: 'served',
      reason: null,
      signature: `sig-${id}`,
      seller: 'gateway',
      dialect: 'v2',
      payer: row.payer,
      network: row.terms.network,
      asset: 'a mint',
      decimals: 6,
      amount: '1000',
      received: '1000',
      payTo: 'a seller',
      route: 'GET /reports',
      answerStatus: 200,
      paidAt: row.paidAt?.toISOString(),
      settledAt: row.settledAt?.toISOString(),
      servedAt: row.servedAt?.toISOString(),
      createdAt: row.createdAt.toISOString(),
    });
    expect(events[0]?.data).toMatchObject({ received: null, servedAt: null, settledAt: null });
  });

  it('only once where a fork removes it and it lands again', async () => {
    const endpoint = await subscribe('*');
    const id = await signed();
    await confirm(id);
    await use.ledger.settlements.note(id, 'sending', null);
    await confirm(id);
    await land(id);
    expect(statesOf(await eventsFor(endpoint, id))).toEqual(['payment.owed owed', 'payment.settled owed']);
  });

  it('when it is final before it was seen as confirmed: first owed, then settled', async () => {
    const endpoint = await subscribe('payment.*');
    const id = await signed();
    await land(id);
    expect(statesOf(await eventsFor(endpoint, id))).toEqual(['payment.owed owed', 'payment.settled owed']);
  });

  it('when its upstream serves it before it is confirmed: served, then settled', async () => {
    const endpoint = await subscribe('payment.*');
    const id = await signed();
    await use.ledger.obligations.markServed(id, 200, ANSWER);
    await confirm(id);
    await land(id);
    expect(statesOf(await eventsFor(endpoint, id))).toEqual([
      'payment.served served',
      'payment.settled served',
    ]);
  });

  it('when it is refundable: the upstream refused, or no caller of the facilitator fetched the success', async () => {
    const endpoint = await subscribe('payment.refundable');
    const [refused, unfetched] = [
      await signed(),
      await signed({ seller: 'facilitator', facilitatorKey: 'shop' }),
    ];
    for (const id of [refused, unfetched]) await confirm(id);
    await use.ledger.obligations.markRefused(refused, 'the upstream returned 404', {
      ...ANSWER,
      status: 404,
    });
    await use.ledger.db
      .updateTable('payment')
      .set({
        paidAt: sql<Date>`now() - ${2 * FETCH_WITHIN_MS.sameKey} * interval '1 millisecond'`,
        leaseHolder: null,
        leaseUntil: null,
      })
      .where('id', '=', unfetched)
      .execute();
    await use.ledger.obligations.endUnfetched();
    for (const id of [refused, unfetched])
      expect(statesOf(await eventsFor(endpoint, id))).toEqual(['payment.refundable refundable']);
    expect((await eventsFor(endpoint, refused))[0]?.data).toMatchObject({
      reason: 'the upstream returned 404',
    });
  });

  it('when it is unmatched: on chain before it was presented, or less than the price, which is not settled', async () => {
    const endpoint = await subscribe('payment.unmatched', 'payment.settled');
    const early = unmatched();
    for (let again = 0; again < 2; again += 1) await use.ledger.payments.storeUnmatched(early);
    const short = await signed();
    await land(short, 999n);
    for (const id of [early.id, short])
      expect(statesOf(await eventsFor(endpoint, id))).toEqual(['payment.unmatched unmatched']);
    expect((await eventsFor(endpoint, early.id))[0]?.data).toMatchObject({ signature: early.signature });
    expect((await eventsFor(endpoint, short))[0]?.data).toMatchObject({ received: '999' });
  });
});

describe('a payment of a buyer has no event', () => {
  it('when it moved no money', async () => {
    const endpoint = await subscribe('*');
    const id = await signed();
    await use.ledger.attempts.settle(id, 1, DEAD);
    await use.ledger.settlements.move(id, 'dead');
    expect(await use.ledger.payments.find(id)).toMatchObject({ state: 'void' });
    expect(await eventsFor(endpoint, id)).toEqual([]);
  });

  it('where its change is not committed', async () => {
    const endpoint = await subscribe('payment.*');
    const id = await signed();
    await confirm(id);
    const failing = use.ledger.db.transaction().execute(async (trx) => {
      await trx.updateTable('payment').set({ state: 'served' }).where('id', '=', id).execute();
      throw new Error('the commit failed');
    });
    await expect(failing).rejects.toThrow('the commit failed');
    expect(statesOf(await eventsFor(endpoint, id))).toEqual(['payment.owed owed']);
  });

  it('where no enabled endpoint subscribes to it', async () => {
    const [other, off] = [await subscribe('payment.settled', 'withdrawal.*'), await subscribe('*')];
    await use.ledger.webhooks.disable(off, 'of a test');
    const id = await signed();
    await confirm(id);
    const stored = use.ledger.db
      .selectFrom('webhookEvent')
      .select('id')
      .where('entity', '=', `payment/${id}`);
    expect(await stored.execute()).toEqual([]);
    await land(id);
    expect(statesOf(await eventsFor(other, id))).toEqual(['payment.settled owed']);
    expect(await eventsFor(off, id)).toEqual([]);
  });
});
