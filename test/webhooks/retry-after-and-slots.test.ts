import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createWebhookActivities, type WebhookActivities } from '../../src/activities/webhooks.ts';
import type { DeliveryKey } from '../../src/domain/webhook.ts';
import { writeEvent } from '../../src/ledger/webhooks/outbox.ts';
import { WebhookSender } from '../../src/webhooks/sender.ts';
import { EXPLORER } from '../http/service.ts';
import { newId, useLedger } from '../ledger/support.ts';
import { type Receiver, startReceiver } from './receiver.ts';

const use = useLedger();
const PATIENCE = { firstRetryMs: 5_000, longestRetryMs: 3_600_000, attempts: 80 };
let sender: WebhookSender;
let receiver: Receiver;
let endpoint: string;
let activities: WebhookActivities;

beforeEach(async () => {
  sender = new WebhookSender({ allowPrivate: true });
  receiver = await startReceiver();
  const { row } = await use.ledger.webhooks.put(`http://127.0.0.1:${receiver.port}/`, ['*']);
  endpoint = row.id;
  const { ledger } = use;
  activities = createWebhookActivities({ ledger, sender, explorer: EXPLORER, triesAtOnce: 3 });
});
afterEach(async () => {
  await use.ledger.webhooks.remove(endpoint);
  await sender.close();
  await receiver.close();
});

async function waiting(): Promise<DeliveryKey> {
  const event = { type: 'deposit.final', entity: newId('deposit'), data: {} } as const;
  await use.ledger.db.transaction().execute((trx) => writeEvent(trx, event));
  const key = await use.ledger.deliveries.nextInLine({ endpoint, entity: event.entity });
  if (key === null) throw new Error('nothing waits');
  return key;
}

describe('the Retry-After header of a receiver', () => {
  it.each([
    ['0', 5_000],
    ['4', 5_000],
    ['7', 7_000],
    ['99999', 3_600_000],
    ['Wed, 21 Oct 2026 07:28:00 GMT', 5_000],
  ])('applies where it is later than our own next attempt: %s', async (asked, nextRetryDelay) => {
    receiver.behave((response) => response.writeHead(503, { 'retry-after': asked }).end());
    const tried = activities.deliver(await waiting(), PATIENCE);
    await expect(tried).rejects.toMatchObject({ type: 'WebhookNotDelivered', nextRetryDelay });
  });
});

describe('a delivery attempt without a free place', () => {
  it('sends nothing, is not counted as an attempt, and is repeated later', async () => {
    let answer: () => void = () => undefined;
    const arrived = new Promise<void>((resolve) =>
      receiver.behave((response) => {
        answer = () => response.writeHead(204).end();
        resolve();
      }),
    );
    const first = activities.deliver(await waiting(), PATIENCE);
    await arrived;
    const second = await waiting();
    await expect(activities.deliver(second, PATIENCE)).rejects.toMatchObject({
      type: 'WebhookBusy',
      nonRetryable: false,
    });
    expect(receiver.received).toHaveLength(1);
    const { rows } = await use.ledger.deliveries.list({ endpoint, state: 'waiting', limit: 9 });
    expect(rows.find(({ id }) => id === second.event)).toMatchObject({ attempts: 0, lastError: null });
    answer();
    await first;
    receiver.behave((response) => response.writeHead(204).end());
    await activities.deliver(second, PATIENCE);
    expect(receiver.received).toHaveLength(2);
  });
});
