import { setTimeout as sleep } from 'node:timers/promises';
import { NativeConnection, Worker } from '@temporalio/worker';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { createDeliverySteps } from '../../src/activities/webhooks.ts';
import { WORKFLOW_TASK_QUEUE } from '../../src/domain/ids.ts';
import { type OutboxEvent, writeEvents } from '../../src/ledger/webhooks/outbox.ts';
import { readConfig } from '../../src/platform/config.ts';
import { webhookWorker } from '../../src/platform/roles/webhooks.ts';
import { Closers } from '../../src/platform/shutdown.ts';
import { openService, type Service } from '../http/service.ts';
import { until } from '../support/until.ts';
import { testWorkflows } from '../support/workflows.ts';
import { type Receiver, startReceiver } from './receiver.ts';

/** A worker makes 100 attempts at once, each of at most 15 s. More subjects wait for the hanging endpoint, with thousands of events. */
const THINGS = 250;
const EVENTS_OF_EACH = 8;
const OTHERS = 20;

let service: Service;
let connection: NativeConnection;
let hanging: Receiver;
let quick: Receiver;
let running: Promise<unknown>;
let workers: readonly Worker[];
const closers = new Closers();

/** Unanswered requests at the hanging endpoint, and their maximum. */
const open = { now: 0, most: 0 };

beforeAll(async () => {
  service = await openService();
  connection = await NativeConnection.connect({ address: service.address });
  hanging = await startReceiver((response) => {
    open.now += 1;
    open.most = Math.max(open.most, open.now);
    response.on('close', () => (open.now -= 1));
  });
  quick = await startReceiver();
  const config = readConfig(
    {
      DATABASE_URL: service.databaseUrl,
      TEMPORAL_ADDRESS: service.address,
      TEMPORAL_NAMESPACE: service.namespace,
      SLUICE_RPC_URLS: 'http://127.0.0.1:1',
      SLUICE_HOT_WALLET: '4zMMC9srt5Ri5X14GAgXhaHii3GnPAEERYPJgZJDncDU',
      SLUICE_WEBHOOK_ALLOW_PRIVATE: 'true',
    },
    'chain',
  );
  const ofWorkflows = await Worker.create({
    connection,
    namespace: service.namespace,
    taskQueue: WORKFLOW_TASK_QUEUE,
    workflowBundle: await testWorkflows(),
    activities: createDeliverySteps(service.ledger),
  });
  workers = [ofWorkflows, await webhookWorker(config, connection, closers)];
  running = Promise.all(workers.map((worker) => worker.run()));
});
afterAll(async () => {
  await hanging?.close();
  await quick?.close();
  for (const worker of workers ?? []) worker.shutdown();
  await running;
  await closers.close();
  await connection?.close();
  await service?.close();
});

function queueEvents(events: readonly OutboxEvent[]): Promise<void> {
  return service.ledger.db.transaction().execute((trx) => writeEvents(trx, events));
}

it('an endpoint that delays every answer delays itself and no other, however many events wait for it', async () => {
  const { webhooks, deliveries } = service.ledger;
  const slow = await webhooks.put(`http://127.0.0.1:${hanging.port}/`, ['withdrawal.*']);
  const other = await webhooks.put(`http://127.0.0.1:${quick.port}/`, ['deposit.*']);
  const numbers = Array.from({ length: THINGS }, (_, n) => n);
  for (let event = 0; event < EVENTS_OF_EACH; event += 1)
    await queueEvents(
      numbers.map((n) => ({ type: 'withdrawal.finalized', entity: `withdrawal/${n}`, data: { n } })),
    );
  await until(() => open.now >= 30);
  const undelivered = async () => (await deliveries.pendingLines()).length;
  while ((await undelivered()) > 0) await sleep(50);

  await queueEvents(
    numbers.slice(0, OTHERS).flatMap((n) =>
      (['deposit.pending', 'deposit.final'] as const).map((type) => ({
        type,
        entity: `deposit/${n}`,
        data: { n },
      })),
    ),
  );
  await until(() => quick.received.length >= 2 * OTHERS);

  const events = quick.received.map(({ body }) => JSON.parse(body) as { type: string; data: { n: number } });
  for (const n of numbers.slice(0, OTHERS))
    expect(events.filter(({ data }) => data.n === n).map(({ type }) => type)).toEqual([
      'deposit.pending',
      'deposit.final',
    ]);
  // The end of an abandoned request may become visible after the next request has arrived.
  expect(open.most).toBeLessThanOrEqual(66);
  // The last answer is stored a moment after it was sent.
  while ((await deliveries.backlogs()).has(other.row.id)) await sleep(50);
  const standings = await deliveries.backlogs();
  expect(standings.get(slow.row.id)).toMatchObject({ waiting: THINGS * EVENTS_OF_EACH, dead: 0 });
}, 400_000);
