import { randomBytes } from 'node:crypto';
import { sql } from 'kysely';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { createDeliverySteps, createWebhookActivities } from '../../src/activities/webhooks.ts';
import { writeEvent } from '../../src/ledger/webhooks/outbox.ts';
import { Webhooks } from '../../src/ledger/webhooks/webhooks.ts';
import { textCipherOf } from '../../src/platform/encryption.ts';
import { WebhookSender } from '../../src/webhooks/sender.ts';
import { EXPLORER } from '../http/service.ts';
import { useLedger } from '../ledger/support.ts';
import { type Receiver, startReceiver } from './receiver.ts';

const use = useLedger();
let sender: WebhookSender;
let receiver: Receiver;
let endpoint: string;
let secret: string;

beforeAll(() => {
  sender = new WebhookSender({ allowPrivate: true });
});
afterAll(() => sender?.close());
beforeEach(async () => {
  receiver = await startReceiver();
  const made = await use.ledger.webhooks.put(`http://127.0.0.1:${receiver.port}/`, ['deposit.*']);
  if (made.secret === null) throw new Error('the endpoint was there already');
  endpoint = made.row.id;
  secret = made.secret;
});
afterEach(async () => {
  await use.ledger.webhooks.remove(endpoint);
  await receiver.close();
});

describe('a fault of our own that is not counted as an attempt', () => {
  /** The event of this subject, and the result of an attempt with other parts. */
  async function waits(entity: string) {
    const event = { type: 'deposit.final', entity, data: { entity } } as const;
    await use.ledger.db.transaction().execute((trx) => writeEvent(trx, event));
    const key = await createDeliverySteps(use.ledger).nextDelivery({ endpoint, entity });
    if (key === null) throw new Error('nothing waits');
    const { deliveries, alerts } = use.ledger;
    return (given: { readonly sender?: WebhookSender; readonly webhooks?: Webhooks }) =>
      createWebhookActivities({
        ledger: { deliveries, alerts, webhooks: given.webhooks ?? use.ledger.webhooks },
        sender: given.sender ?? sender,
        explorer: EXPLORER,
        triesAtOnce: 100,
      }).deliver(key, { firstRetryMs: 20, longestRetryMs: 50, attempts: 1 });
  }

  async function state(): Promise<string | undefined> {
    return (await use.ledger.deliveries.list({ endpoint, limit: 9 })).rows[0]?.state;
  }

  async function untouched(): Promise<void> {
    const { rows } = await use.ledger.deliveries.list({ endpoint, limit: 9 });
    expect(rows).toMatchObject([{ state: 'waiting', attempts: 0, lastError: null }]);
  }

  async function alarmed(): Promise<readonly string[]> {
    const { rows } = await use.ledger.alerts.list({ open: true, limit: 99 });
    return rows
      .filter(({ kind, subject }) => kind === 'webhook_unsent' && subject === endpoint)
      .map(({ message }) => message);
  }

  it('is an unreadable secret: it raises an alert, and the event is delivered after the repair', async () => {
    const [key, other] = [randomBytes(32), randomBytes(32)];
    const { db } = use.ledger;
    await sql`update webhook_endpoint set secret = ${textCipherOf([key]).encrypt(secret, endpoint)}`.execute(
      db,
    );
    const tryWith = await waits('deposit/sealed');
    const sealed = new Webhooks(db, textCipherOf([other]));
    await expect(tryWith({ webhooks: sealed })).rejects.toMatchObject({ type: 'WebhookNotSent' });
    await untouched();
    expect(await alarmed()).toEqual([expect.stringContaining('because of a fault of Sluice itself')]);
    expect(receiver.received).toEqual([]);
    await tryWith({ webhooks: new Webhooks(db, textCipherOf([other, key])) });
    expect(receiver.types()).toEqual(['deposit.final']);
    expect(await alarmed()).toEqual([]);
  });

  it.each(['EAI_AGAIN', 'ENETUNREACH'])('is a failure of our resolver or network: %s', async (code) => {
    const { db } = use.ledger;
    await sql`update webhook_endpoint set url = ${`http://${code}.example:${receiver.port}/`}`.execute(db);
    const tryWith = await waits(`deposit/${code}`);
    const failing = (failure: string) =>
      new WebhookSender({
        allowPrivate: true,
        resolve: () => Promise.reject(Object.assign(new Error(failure), { code: failure })),
      });
    for (let again = 0; again < 3; again += 1)
      await expect(tryWith({ sender: failing(code) })).rejects.toMatchObject({ type: 'WebhookNotSent' });
    await untouched();
    expect(await alarmed()).toEqual([expect.stringContaining(code)]);
    await tryWith({ sender: failing('ENOTFOUND') });
    expect(await state()).toBe('dead');
    expect(await alarmed()).toEqual([]);
  });

  it('is a 401 with a clock far from ours; with the same clock the 401 counts', async () => {
    const tryWith = await waits('deposit/clock');
    const refuses = (at: number) =>
      receiver.behave((response) => response.writeHead(401, { date: new Date(at).toUTCString() }).end());
    refuses(Date.now() + 3_600_000);
    await expect(tryWith({})).rejects.toMatchObject({ type: 'WebhookNotSent' });
    await untouched();
    expect(await alarmed()).toEqual([
      expect.stringMatching(/answered 401, and its clock differs from ours by 3\d+ seconds/),
    ]);
    refuses(Date.now());
    await tryWith({});
    expect(await state()).toBe('dead');
  });
});
