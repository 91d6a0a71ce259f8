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
import { textCipherOf } from '../encryption.ts';
import type { Closers } from '../shutdown.ts';
import { dataConverter } from '../temporal/codec.ts';
import { startWebhookDelivery } from '../temporal/starts.ts';
import { warningLogger, workerOptions } from './run.ts';

const OUTBOX_INTERVAL_MS = 500;
const DELETION_INTERVAL_MS = 3_600_000;
const RETENTION_DAYS = 30;
const MAX_WAKE_UPS = 16;
const RETRY_DELAYS = { firstRetryMs: 5_000, longestRetryMs: 3_600_000 };
const MAX_TRIES = 100;

/**
 * Worker that wakes the delivery workflows for events in the outbox, and delivers events. It shares no slots and no
 * database connections with payments. Each endpoint uses at most a third of its slots, so that a slow receiver delays
 * only its own events.
 */
export async function webhookWorker(
  config: Config<'chain'>,
  connection: NativeConnection,
  closers: Closers,
): Promise<Worker> {
  const { temporalNamespace: namespace, payloadKeys, webhookAllowPrivate, webhookAttempts } = config;
  const { explorerUrl, cluster, rpcUrls } = config;
  const ledger = await openLedger(config.databaseUrl, textCipherOf(payloadKeys));
  closers.add('ledger of webhooks', () => ledger.close());
  const sender = new WebhookSender({ allowPrivate: webhookAllowPrivate });
  closers.add('connections to webhooks', () => sender.close());
  const client = new Client({ connection, namespace, dataConverter: dataConverter(payloadKeys) });
  const patience = { ...RETRY_DELAYS, attempts: webhookAttempts };
  const wake = (line: DeliveryLine) => startWebhookDelivery(client, line, patience);
  let isBusy = false;
  const emptyOutbox = async (): Promise<void> => {
    if (isBusy) return;
    isBusy = true;
    try {
      while ((await handOver(ledger.deliveries, wake)) > 0);
    } finally {
      isBusy = false;
    }
  };
  const deleteOld = async (): Promise<void> => {
    while ((await ledger.deliveries.deleteOld(RETENTION_DAYS)) > 0);
  };
  const warnAboutOutbox = warningLogger('the outbox of webhook events cannot be read now');
  const warnAboutDeletion = warningLogger('old webhook events cannot be deleted now');
  closers.runPeriodically('outbox', OUTBOX_INTERVAL_MS, emptyOutbox, warnAboutOutbox);
  closers.runPeriodically('old events', DELETION_INTERVAL_MS, deleteOld, warnAboutDeletion);
  return Worker.create({
    ...workerOptions(config, connection, WEBHOOK_TASK_QUEUE),
    activities: createWebhookActivities({
      ledger,
      sender,
      explorer: { explorerUrl, cluster, rpcUrls },
      triesAtOnce: MAX_TRIES,
    }),
    maxConcurrentActivityTaskExecutions: MAX_TRIES,
  });
}

/**
 * Wakes the workflow of each line with pending events; returns the number of lines. A line is marked after the wake-up:
 * if the process stops in between, the workflow is woken twice, which is harmless.
 */
export async function handOver(
  deliveries: Deliveries,
  wake: (line: DeliveryLine) => Promise<void>,
): Promise<number> {
  const lines = await deliveries.pendingLines();
  await pLimit(MAX_WAKE_UPS).map(lines, async (line) => {
    await wake(line);
    await deliveries.markHandedOver(line);
  });
  return lines.length;
}
