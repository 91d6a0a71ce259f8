import { Client } from '@temporalio/client';
import { type NativeConnection, Worker } from '@temporalio/worker';
import pLimit from 'p-limit';
import { createWebhookActivities } from '../../activities/webhooks.ts';
import { WEBHOOK_TASK_QUEUE } from '../../domain/ids.ts';
import type { DeliveryLine } from '../../domain/webhook.ts';
import { openLedger } from '../../ledger/ledger.ts';
import type { Deliveries } from '../../ledger/webhooks/deliveries.ts';
import { WebhookSender } from '../../webhooks/sender.ts';
import type { Config } from '../config.ts';
import { sealOf } from '../encryption.ts';
import type { Closers } from '../shutdown.ts';
import { dataConverter } from '../temporal/codec.ts';
import { startWebhookDelivery } from '../temporal/starts.ts';
import { warningLogger, workerOptions } from './run.ts';

const OUTBOX_EVERY_MS = 500;
const FORGOTTEN_EVERY_MS = 3_600_000;
const KEPT_DAYS = 30;
const AT_ONCE = 16;
const RETRIES = { firstRetryMs: 5_000, longestRetryMs: 3_600_000 };
const TRIES_AT_ONCE = 100;

/**
 * Hands the outbox to its workflows, and delivers events. It shares no slots and no database connections with
 * payments. Each endpoint uses at most a third of its slots, so that a slow receiver delays only its own events.
 */
export async function webhookWorker(
  config: Config<'chain'>,
  connection: NativeConnection,
  closers: Closers,
): Promise<Worker> {
  const { temporalNamespace: namespace, payloadKeys, webhookAllowPrivate, webhookAttempts } = config;
  const { explorerUrl, cluster, rpcUrls } = config;
  const ledger = await openLedger(config.databaseUrl, sealOf(payloadKeys));
  closers.add('ledger of webhooks', () => ledger.close());
  const sender = new WebhookSender({ allowPrivate: webhookAllowPrivate });
  closers.add('connections to webhooks', () => sender.close());
  const client = new Client({ connection, namespace, dataConverter: dataConverter(payloadKeys) });
  const patience = { ...RETRIES, attempts: webhookAttempts };
  const wake = (line: DeliveryLine) => startWebhookDelivery(client, line, patience);
  let busy = false;
  const emptyOutbox = async (): Promise<void> => {
    if (busy) return;
    busy = true;
    try {
      while ((await handOver(ledger.deliveries, wake)) > 0);
    } finally {
      busy = false;
    }
  };
  const forgetOld = async (): Promise<void> => {
    while ((await ledger.deliveries.deleteOld(KEPT_DAYS)) > 0);
  };
  const warns = warningLogger('the outbox cannot be read now');
  closers.runPeriodically('outbox', OUTBOX_EVERY_MS, emptyOutbox, warns);
  closers.runPeriodically('old events', FORGOTTEN_EVERY_MS, forgetOld, warns);
  return Worker.create({
    ...workerOptions(config, connection, WEBHOOK_TASK_QUEUE),
    activities: createWebhookActivities({
      ledger,
      sender,
      explorer: { explorerUrl, cluster, rpcUrls },
      triesAtOnce: TRIES_AT_ONCE,
    }),
    maxConcurrentActivityTaskExecutions: TRIES_AT_ONCE,
  });
}

/**
 * Wakes the workflow of each line with pending events; returns the number of lines. A line is marked after the
 * wake-up: if the process stops between the two, the workflow is woken twice, which is harmless.
 */
export async function handOver(
  deliveries: Deliveries,
  wake: (line: DeliveryLine) => Promise<void>,
): Promise<number> {
  const lines = await deliveries.pendingLines();
  await pLimit(AT_ONCE).map(lines, async (line) => {
    await wake(line);
    await deliveries.markHandedOver(line);
  });
  return lines.length;
}
