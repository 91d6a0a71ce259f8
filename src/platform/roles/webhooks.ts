import { Client } from '@temporalio/client';
import { type NativeConnection, Worker } from '@temporalio/worker';
import { createWebhookActivities } from '../../activities/webhooks.ts';
import { WEBHOOK_TASK_QUEUE } from '../../domain/ids.ts';
import { openLedger } from '../../ledger/ledger.ts';
import { WebhookSender } from '../../webhooks/sender.ts';
import type { Config } from '../config.ts';
import { sealOf } from '../seal.ts';
import type { Closers } from '../shutdown.ts';
import { dataConverter } from '../temporal/codec.ts';
import { startWebhookDelivery } from '../temporal/start-webhook-delivery.ts';
import { keepHandingOver } from './outbox.ts';
import { warnsOf, workerOptions } from './run.ts';

const FIRST_RETRY_MS = 5_000;
const LONGEST_RETRY_MS = 3_600_000;
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
  const patience = {
    firstRetryMs: FIRST_RETRY_MS,
    longestRetryMs: LONGEST_RETRY_MS,
    attempts: webhookAttempts,
  };
  closers.add(
    'outbox',
    keepHandingOver(
      ledger.deliveries,
      (line) => startWebhookDelivery(client, line, patience),
      warnsOf('the outbox cannot be handed over now'),
    ),
  );
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
