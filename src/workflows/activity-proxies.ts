import type { RetryPolicy } from '@temporalio/common';
import {
  type ActivityOptions,
  type LocalActivityOptions,
  proxyActivities,
  proxyLocalActivities,
} from '@temporalio/workflow';
import type { DepositActivities } from '../activities/deposits.ts';
import type { QuickActivities } from '../activities/quick-settlements.ts';
import type { SettlementActivities } from '../activities/settlements.ts';
import type { SignerActivities } from '../activities/signing.ts';
import type { WatchActivities } from '../activities/watches.ts';
import type { DeliverySteps, WebhookActivities } from '../activities/webhooks.ts';
import type { WithdrawalActivities } from '../activities/withdrawals.ts';
import type { X402Activities } from '../activities/x402.ts';
import { NON_RETRYABLE_CODES } from '../domain/errors.ts';
import {
  AUDIT_TASK_QUEUE,
  LANDING_TASK_QUEUE,
  QUICK_TASK_QUEUE,
  SIGNER_TASK_QUEUE,
  WATCH_TASK_QUEUE,
  WEBHOOK_TASK_QUEUE,
} from '../domain/ids.ts';
import { TIMEOUTS } from '../domain/timeouts.ts';
import type { Patience } from '../domain/webhook.ts';

/** Permanent errors fail at once; all others are retried without limit. */
const retry = {
  initialInterval: '500 milliseconds',
  backoffCoefficient: 2,
  maximumInterval: TIMEOUTS.longestRetryMs,
  nonRetryableErrorTypes: [...NON_RETRYABLE_CODES],
} satisfies RetryPolicy;

/** One short PostgreSQL transaction in the worker of the workflow task: one history event instead of six. */
const RECORD: LocalActivityOptions = {
  startToCloseTimeout: TIMEOUTS.recordMs,
  localRetryThreshold: '5 seconds',
  retry,
};

/** Reads the chain, then commits one PostgreSQL transaction. */
const PREPARE: ActivityOptions = {
  startToCloseTimeout: TIMEOUTS.prepareMs,
  retry,
};

/** From preparation to `confirmed`, or to a short deadline, because a caller waits. */
const QUICK: LocalActivityOptions = {
  startToCloseTimeout: TIMEOUTS.quickMs,
  localRetryThreshold: '5 seconds',
  retry: { ...retry, initialInterval: '100 milliseconds' },
};

/** Waits for one signature, however slow the signer. After a worker's death another one continues. */
const SIGN: ActivityOptions = {
  taskQueue: SIGNER_TASK_QUEUE,
  startToCloseTimeout: '1 day',
  heartbeatTimeout: TIMEOUTS.heartbeatMs,
  retry,
};

/** Waits for a block or a proof of death, without limit. A silent worker is replaced after the heartbeat timeout. */
const LAND: ActivityOptions = {
  taskQueue: LANDING_TASK_QUEUE,
  startToCloseTimeout: '30 days',
  heartbeatTimeout: TIMEOUTS.heartbeatMs,
  retry,
};

const LANDING = 'send until it lands or is proved dead';
const READING_AGAIN = 'read earlier blocks or the history of an address';

/** {@link LAND} on workers of quick settlements: buyers' payments take no slot from withdrawals. */
const LAND_QUICK: ActivityOptions = { ...LAND, taskQueue: QUICK_TASK_QUEUE };

/** Requests the paid resource from the upstream until it answers. */
const SERVE: ActivityOptions = {
  taskQueue: QUICK_TASK_QUEUE,
  startToCloseTimeout: TIMEOUTS.serveMs,
  retry: { ...retry, maximumInterval: '1 minute' },
};

/** Reads blocks without a time limit. On cancellation it commits the current work, and the workflow waits for that. */
const SCAN: ActivityOptions = {
  taskQueue: WATCH_TASK_QUEUE,
  startToCloseTimeout: '1 day',
  heartbeatTimeout: TIMEOUTS.heartbeatMs,
  cancellationType: 'WAIT_CANCELLATION_COMPLETED',
  retry,
};

/** Measures how far the scan is behind. Errors of nodes or PostgreSQL are part of the result. */
const PLAN: ActivityOptions = {
  taskQueue: WATCH_TASK_QUEUE,
  startToCloseTimeout: '2 minutes',
  retry,
};

/** Reads earlier blocks or histories, possibly for hours: its own task queue, so that nothing waits for it. */
const AUDIT: ActivityOptions = { ...SCAN, taskQueue: AUDIT_TASK_QUEUE };

/** Reads blocks that nodes may have pruned. Gives up in the end, because nothing depends on it. */
const BACKFILL: ActivityOptions = { ...AUDIT, scheduleToCloseTimeout: '1 day' };

/** One round of a schedule. Gives up in time for the next round. */
const WATCH: ActivityOptions = {
  taskQueue: WATCH_TASK_QUEUE,
  startToCloseTimeout: '2 minutes',
  scheduleToCloseTimeout: '5 minutes',
  retry,
};

type SettlementSteps = WithdrawalActivities & SettlementActivities & X402Activities & QuickActivities;

/** Proxies of `Activities` with these options; the summary is shown in the Temporal Web UI. */
const record = <Activities>(summary: string) => proxyLocalActivities<Activities>({ ...RECORD, summary });
const run = <Activities>(options: ActivityOptions, summary: string) =>
  proxyActivities<Activities>({ ...options, summary });

export const { admit } = record<SettlementSteps>('reserve the id, find earlier attempts');
export const { confirm } = record<SettlementSteps>("store the customer's confirmation");
export const { cancel } = record<SettlementSteps>('cancel unless an attempt was prepared');
export const { hold, holdSettlement } = record<SettlementSteps>('hold the settlement');
export const { findSettlement } = record<SettlementSteps>('find earlier attempts');
export const { storeSignature } = record<SettlementSteps>('store a signature');
export const { isOwed } = record<SettlementSteps>('check whether the buyer was served');
export const { prepareAttempt, prepareSettlement } = run<SettlementSteps>(
  PREPARE,
  'check the terms, compose the transaction, reserve funds',
);
export const { awaitSignatures } = run<SettlementSteps>(PREPARE, 'wait for external signatures');
export const { signTransaction } = run<SignerActivities>(SIGN, 'sign the transaction');
export const { landAttempt } = run<SettlementSteps>(LAND, LANDING);
export const { landPayment } = run<SettlementSteps>(LAND_QUICK, LANDING);
export const { serveOwed } = run<SettlementSteps>(SERVE, 'request the paid resource from the upstream');
export const { settleQuickly } = proxyLocalActivities<SettlementSteps>({
  ...QUICK,
  summary: 'settle until it is confirmed',
});

export const { recordBackfillGivenUp } = record<DepositActivities>('end the stored backfill');
export const { planCatchUp } = run<DepositActivities>(PLAN, 'measure how far the scan is behind');
export const { scanRange } = run<DepositActivities>(SCAN, 'read a range of blocks');
export const { joinRanges } = run<DepositActivities>(SCAN, 'commit the ranges that were read');
export const { scanTail } = run<DepositActivities>(SCAN, 'follow the chain');
export const { reconcilePage } = run<DepositActivities>(SCAN, 'compare balances with the database');
export const { backfill } = run<DepositActivities>(BACKFILL, READING_AGAIN);
export const { backfill: backfillImport } = run<DepositActivities>(AUDIT, READING_AGAIN);

export const { restartOrphans } = run<WatchActivities>(WATCH, 'start settlements that have no run');
export const { buryRefused } = run<WatchActivities>(WATCH, 'prove unsigned attempts dead');
export const { startDueAudits } = run<WatchActivities>(WATCH, 'start audits that are due');
export const { watchWallet } = run<WatchActivities>(WATCH, 'compare wallet signatures with the database');

export const { nextDelivery } = record<DeliverySteps>('find the next event');
export const { giveUpDelivery } = record<DeliverySteps>('store the event as a dead letter');

/** One try. The sender's deadline ends it before another worker may begin the next. PostgreSQL counts tries. */
export function deliverTo({ firstRetryMs, longestRetryMs }: Patience) {
  return proxyActivities<WebhookActivities>({
    summary: 'send the event to the endpoint',
    taskQueue: WEBHOOK_TASK_QUEUE,
    startToCloseTimeout: '30 seconds',
    retry: {
      initialInterval: firstRetryMs,
      backoffCoefficient: 2,
      maximumInterval: longestRetryMs,
      nonRetryableErrorTypes: [...NON_RETRYABLE_CODES],
    },
  }).deliver;
}
