import { setTimeout as sleep } from 'node:timers/promises';
import { Webhook } from 'standardwebhooks';
import { describe, expect, it } from 'vitest';
import { createDeliverySteps, createWebhookActivities } from '../../src/activities/webhooks.ts';
import { verifyWebhook } from '../../src/client/client.ts';
import { WORKFLOW_TASK_QUEUE, webhookWorkflowId } from '../../src/domain/ids.ts';
import type { WebhookEventType } from '../../src/domain/webhook.ts';
import { startWebhookDelivery } from '../../src/platform/temporal/starts.ts';
import { WebhookSender } from '../../src/webhooks/sender.ts';
import { EXPLORER } from '../http/service.ts';
import { newPayment } from '../ledger/new-payment.ts';
import { attempt, PLENTY } from '../ledger/support.ts';
import { PATIENCE, useDeliveryFixture } from './delivery-fixture.ts';
import { answering } from './receiver.ts';

const fixture = useDeliveryFixture();

/** Resolves once a workflow task started after the signal, so that the run has read the signal. */
async function signalIsInHistory(entity: string): Promise<void> {
  for (;;) {
    const { events } = await fixture.runOf(entity).fetchHistory();
    const kinds = (events ?? []).map((event) =>
      event.workflowTaskCompletedEventAttributes
        ? 'task'
        : event.workflowExecutionSignaledEventAttributes
          ? 'signal'
          : '',
    );
    if (kinds.lastIndexOf('task') > kinds.indexOf('signal') && kinds.includes('signal')) return;
    await sleep(100);
  }
}

/** The details of a run in the Web UI. */
async function detailsOf(entity: string): Promise<string | undefined> {
  const shown = await fixture
    .runOf(entity)
    .query<{ currentDetails?: string }>('__temporal_workflow_metadata');
  return shown.currentDetails;
}

const givenUp = (kind: string, tries: string, reason: string): string =>
  `**deposit.${kind} to 127.0.0.1:${fixture.receiver.port}: given up** ${tries}: ${reason}; \`sluice webhooks replay ${fixture.endpoint}\` retries it`;

const deposited = (...kinds: readonly string[]): readonly WebhookEventType[] =>
  kinds.map((kind) => `deposit.${kind}` as WebhookEventType);

describe('a webhook event is delivered', () => {
  it('with a signature of Standard Webhooks by every valid secret, and with one id in every attempt', async () => {
    const { secret: second } = await fixture.service.ledger.webhooks.rotate(fixture.endpoint, 24);
    fixture.receiver.behave((response, _received, n) => response.writeHead(n === 1 ? 503 : 200).end());
    await fixture.queueEvents('deposit/signed', 'final');
    await fixture.deliver('deposit/signed');
    expect(fixture.receiver.received).toHaveLength(2);
    const [first, last] = fixture.receiver.received;
    expect(first?.headers['webhook-id']).toBe(last?.headers['webhook-id']);
    for (const key of [fixture.secret, second])
      for (const { headers, body } of fixture.receiver.received) {
        const payload = new Webhook(String(key)).verify(body, headers as Record<string, string>);
        expect(payload).toMatchObject({ type: 'deposit.final', data: { entity: 'deposit/signed' } });
        const event = await verifyWebhook({ headers, body }, String(key));
        expect(event).toEqual({ ...(payload as object), id: headers['webhook-id'] });
      }
    expect(await fixture.statesOf('deposit/signed')).toEqual(['delivered']);
  });

  it('of a sale, with the payment that the database wrote into it', async () => {
    const { payments, attempts, settlements, webhooks } = fixture.service.ledger;
    await webhooks.put(`http://127.0.0.1:${fixture.receiver.port}/`, ['payment.*']);
    const { id, payer } = newPayment();
    await payments.open(newPayment({ id, payer }));
    await attempts.prepare(attempt(id), PLENTY);
    await attempts.storeSignature(id, 1, `sig-${id}`);
    await settlements.note(id, 'confirmed', null);
    await fixture.deliver(`payment/${id}`);
    const [{ headers, body } = { headers: {}, body: '' }] = fixture.receiver.received;
    const event = await verifyWebhook({ headers, body }, fixture.secret);
    const data = { id, payer, state: 'owed', amount: '1000', decimals: 6, signature: `sig-${id}` };
    expect(event).toMatchObject({ type: 'payment.owed', timestamp: expect.stringMatching(/^20.*Z$/), data });
    expect(await fixture.statesOf(`payment/${id}`)).toEqual(['delivered']);
  });

  it('again where the receiver only redirects', async () => {
    const elsewhere = { location: `http://127.0.0.1:${fixture.receiver.port}/elsewhere` };
    fixture.receiver.behave((response, _received, n) =>
      response.writeHead(n === 1 ? 302 : 200, elsewhere).end(),
    );
    await fixture.queueEvents('deposit/moved', 'final');
    await fixture.deliver('deposit/moved');
    expect(fixture.receiver.types()).toEqual(deposited('final', 'final'));
    expect(await fixture.statesOf('deposit/moved')).toEqual(['delivered']);
  });

  it('after the earlier events of its subject, however often they fail, and independently of other subjects', async () => {
    fixture.receiver.behave((response, { body }) => {
      const fails = body.includes('deposit/slow') && fixture.receiver.received.length < 4;
      response.writeHead(fails ? 500 : 204).end();
    });
    await fixture.queueEvents('deposit/slow', 'pending', 'final');
    await fixture.queueEvents('deposit/quick', 'final');
    await fixture.deliver('deposit/slow', 'deposit/quick');
    const types = fixture.receiver.received
      .filter(({ body }) => body.includes('deposit/slow'))
      .map(({ body }) => (JSON.parse(body) as { type: string }).type);
    expect(new Set(types.slice(0, -1))).toEqual(new Set(deposited('pending')));
    expect(types.length).toBeGreaterThan(2);
    expect(types.at(-1)).toBe('deposit.final');
    expect(await fixture.statesOf('deposit/slow')).toEqual(['delivered', 'delivered']);
  });

  it('by the existing run, even if the event arrives while that run waits for the receiver', async () => {
    let release: () => void = () => undefined;
    const arrived = new Promise<void>((resolve) => {
      fixture.receiver.behave((response, _received, n) => {
        if (n > 1) return response.writeHead(204).end();
        release = () => response.writeHead(204).end();
        return resolve();
      });
    });
    await fixture.queueEvents('deposit/late', 'pending');
    await fixture.handOver();
    await arrived;
    await fixture.queueEvents('deposit/late', 'final');
    await fixture.handOver();
    const { runId } = await fixture.runOf('deposit/late').describe();
    release();
    await fixture.runOf('deposit/late').result();
    expect((await fixture.runOf('deposit/late').describe()).runId).toBe(runId);
    expect(fixture.receiver.types()).toEqual(deposited('pending', 'final'));
  });

  it('by the existing run, even if the signal arrives after the run has read its last event', async () => {
    const line = { endpoint: fixture.endpoint, entity: 'deposit/end' };
    fixture.beforeRunEnds = async () => {
      await fixture.queueEvents(line.entity, 'final');
      await fixture.handOver();
      await signalIsInHistory(line.entity);
    };
    await fixture.queueEvents(line.entity, 'pending');
    // During the first read, a run with such a short task timeout starts another task, which delivers the signal.
    await fixture.service.temporal.workflow.start('webhookDelivery', {
      workflowId: webhookWorkflowId(line),
      taskQueue: WORKFLOW_TASK_QUEUE,
      args: [{ ...line, patience: PATIENCE }],
      workflowTaskTimeout: '1 second',
    });
    await fixture.runOf(line.entity).result();
    expect(fixture.receiver.types()).toEqual(deposited('pending', 'final'));
  });

  it('once, however often it is handed over', async () => {
    await fixture.queueEvents('deposit/once', 'final');
    const [line] = await fixture.service.ledger.deliveries.pendingLines();
    if (line === undefined) throw new Error('nothing waits');
    for (let again = 0; again < 3; again += 1)
      await startWebhookDelivery(fixture.service.temporal, line, PATIENCE);
    await fixture.deliver('deposit/once');
    expect(fixture.receiver.types()).toEqual(deposited('final'));
    expect(await fixture.handOver()).toBe(0);
  });
});

describe('a webhook event that no attempt delivers', () => {
  it('becomes a dead letter, lets the next event pass, and is delivered by a replay', async () => {
    fixture.receiver.behave((response, { body }) =>
      response.writeHead(body.includes('deposit.pending') ? 500 : 204).end(),
    );
    await fixture.queueEvents('deposit/dead', 'pending', 'final');
    await fixture.deliver('deposit/dead');
    expect(fixture.receiver.types()).toEqual(deposited('pending', 'pending', 'pending', 'final'));
    expect(await fixture.statesOf('deposit/dead')).toEqual(['dead', 'delivered']);
    expect(await detailsOf('deposit/dead')).toBe(
      [
        givenUp('pending', 'after 3 tries', 'the receiver answered 500'),
        `deposit.final to 127.0.0.1:${fixture.receiver.port}: delivered`,
      ].join('  \n'),
    );
    const { rows } = await fixture.service.ledger.alerts.list({ open: true, limit: 9 });
    expect(rows).toMatchObject([
      {
        kind: 'webhook_dead_letter',
        subject: fixture.endpoint,
        message: expect.stringContaining('answered 500'),
      },
    ]);
    fixture.receiver.behave(answering(204));
    expect(await fixture.service.ledger.deliveries.replay(fixture.endpoint)).toBe(1);
    await fixture.deliver('deposit/dead');
    expect(await fixture.statesOf('deposit/dead')).toEqual(['delivered', 'delivered']);
    expect(fixture.receiver.types().at(-1)).toBe('deposit.pending');
  });

  it('because the receiver is gone is not retried, and disables the endpoint', async () => {
    fixture.receiver.behave(answering(410));
    await fixture.queueEvents('deposit/gone', 'pending', 'final');
    await fixture.deliver('deposit/gone');
    expect(fixture.receiver.types()).toEqual(deposited('pending'));
    expect(await fixture.statesOf('deposit/gone')).toEqual(['dead', 'dead']);
    const { rows } = await fixture.service.ledger.deliveries.list({ endpoint: fixture.endpoint, limit: 2 });
    expect(rows.map(({ attempts }) => attempts)).toEqual([0, 1]);
    expect(await detailsOf('deposit/gone')).toBe(
      ['pending', 'final']
        .map((kind, index) =>
          givenUp(kind, index === 0 ? 'after 1 try' : 'untried', 'the receiver answered 410 Gone'),
        )
        .join('  \n'),
    );
    expect(await fixture.service.ledger.webhooks.get(fixture.endpoint)).toMatchObject({
      disabledBecause: 'the receiver answered 410 Gone',
    });
  });

  it('because its address is private reaches no receiver', async () => {
    const strict = createWebhookActivities({
      ledger: fixture.service.ledger,
      sender: new WebhookSender(),
      explorer: EXPLORER,
      triesAtOnce: 100,
    });
    const steps = createDeliverySteps(fixture.service.ledger);
    await fixture.queueEvents('deposit/private', 'final');
    const key = await steps.nextDelivery({ endpoint: fixture.endpoint, entity: 'deposit/private' });
    if (key === null) throw new Error('nothing waits');
    await expect(strict.deliver(key, PATIENCE)).rejects.toThrow('the URL must be an https URL');
    expect(fixture.receiver.received).toEqual([]);
    expect(await fixture.statesOf('deposit/private')).toEqual(['waiting']);
    await fixture.service.ledger.deliveries.giveUp(key);
  });
});
