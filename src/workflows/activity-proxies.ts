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

/** A permanent error fails the activity at once; any other error is retried without limit. */
const retry = {
  initialInterval: '500 milliseconds',
  backoffCoefficient: 2,
  maximumInterval: TIMEOUTS.longestRetryMs,
  nonRetryableErrorTypes: [...NON_RETRYABLE_CODES],
} satisfies RetryPolicy;

/** A short PostgreSQL transaction. As a local activity it adds one history event instead of six. */
const RECORD_OPTIONS: LocalActivityOptions = {
  startToCloseTimeout: TIMEOUTS.recordMs,
  localRetryThreshold: '5 seconds',
  retry,
};

/** Reads the chain, then commits one PostgreSQL transaction. */
const PREPARE_OPTIONS: ActivityOptions = {
  startToCloseTimeout: TIMEOUTS.prepareMs,
  retry,
};

/** Prepares an attempt and waits for `confirmed` or a short deadline, because a caller waits for the result. */
const QUICK_OPTIONS: LocalActivityOptions = {
  startToCloseTimeout: TIMEOUTS.quickMs,
  localRetryThreshold: '5 seconds',
  retry: { ...retry, initialInterval: '100 milliseconds' },
};

/** Waits for one signature, even from a slow signer. If the worker stops, another worker asks again. */
const SIGN_OPTIONS: ActivityOptions = {
  taskQueue: SIGNER_TASK_QUEUE,
  startToCloseTimeout: '1 day',
  heartbeatTimeout: TIMEOUTS.heartbeatMs,
  retry,
};

/**
 * Waits until the attempt is in a finalized block or can no longer land. Another worker continues after a missed
 * heartbeat.
 */
const LAND_OPTIONS: ActivityOptions = {
  taskQueue: LANDING_TASK_QUEUE,
  startToCloseTimeout: '30 days',
  heartbeatTimeout: TIMEOUTS.heartbeatMs,
  retry,
};

const LANDING_SUMMARY = 'send the transaction until it lands or is proved dead';
const BACKFILL_SUMMARY = 'read earlier blocks or the history of an address';

/**
 * Like {@link LAND_OPTIONS}, on the task queue of quick settlements, so that x402 payments take no slot from
 * withdrawals.
 */
const LAND_QUICK_OPTIONS: ActivityOptions = { ...LAND_OPTIONS, taskQueue: QUICK_TASK_QUEUE };

/** Requests the paid resource from the upstream until it answers. */
const SERVE_OPTIONS: ActivityOptions = {
  taskQueue: QUICK_TASK_QUEUE,
  startToCloseTimeout: TIMEOUTS.serveMs,
  heartbeatTimeout: TIMEOUTS.heartbeatMs,
  retry: { ...retry, maximumInterval: '1 minute' },
};

/** Reads blocks. When it is cancelled, the activity first commits its current work, and the workflow waits for that. */
const SCAN_OPTIONS: ActivityOptions = {
  taskQueue: WATCH_TASK_QUEUE,
  startToCloseTimeout: '1 day',
  heartbeatTimeout: TIMEOUTS.heartbeatMs,
  cancellationType: 'WAIT_CANCELLATION_COMPLETED',
  retry,
};

/** Measures how far the scan is behind. */
const PLAN_OPTIONS: ActivityOptions = {
  taskQueue: WATCH_TASK_QUEUE,
  startToCloseTimeout: '2 minutes',
  retry,
};

/** Reads earlier blocks or histories, possibly for hours, on a separate task queue, so that no other activity waits. */
const AUDIT_OPTIONS: ActivityOptions = { ...SCAN_OPTIONS, taskQueue: AUDIT_TASK_QUEUE };

/** Reads blocks that nodes may have pruned. Stops after a day, because no other work depends on the result. */
const BACKFILL_OPTIONS: ActivityOptions = { ...AUDIT_OPTIONS, scheduleToCloseTimeout: '1 day' };

/** One round of a schedule. Stops after five minutes, because the next round repeats the work. */
const WATCH_OPTIONS: ActivityOptions = {
  taskQueue: WATCH_TASK_QUEUE,
  startToCloseTimeout: '2 minutes',
  scheduleToCloseTimeout: '5 minutes',
  retry,
};

type AllSettlementActivities = WithdrawalActivities & SettlementActivities & X402Activities & QuickActivities;

/** A proxy of `Activities`. The Temporal Web UI displays the summary. */
const databaseStep = <Activities>(summary: string) =>
  proxyLocalActivities<Activities>({ ...RECORD_OPTIONS, summary });
const activityStep = <Activities>(options: ActivityOptions, summary: string) =>
  proxyActivities<Activities>({ ...options, summary });

export const { admit } = databaseStep<AllSettlementActivities>('reserve the id and find earlier attempts');
export const { confirm } = databaseStep<AllSettlementActivities>("store the customer's confirmation");
export const { cancel } = databaseStep<AllSettlementActivities>('cancel unless an attempt can still land');
export const { hold, holdSettlement } = databaseStep<AllSettlementActivities>('hold the settlement');
export const { findSettlement } = databaseStep<AllSettlementActivities>('find earlier attempts');
export const { storeSignature } = databaseStep<AllSettlementActivities>('store a signature');
export const { isOwed } = databaseStep<AllSettlementActivities>('check whether the buyer was served');
export const { prepareAttempt, prepareSettlement } = activityStep<AllSettlementActivities>(
  PREPARE_OPTIONS,
  'check the terms, compose the transaction and reserve funds',
);
export const { awaitSignatures } = activityStep<AllSettlementActivities>(
  PREPARE_OPTIONS,
  'wait for external signatures',
);
export const { signTransaction } = activityStep<SignerActivities>(SIGN_OPTIONS, 'sign the transaction');
export const { landAttempt } = activityStep<AllSettlementActivities>(LAND_OPTIONS, LANDING_SUMMARY);
export const { landPayment } = activityStep<AllSettlementActivities>(LAND_QUICK_OPTIONS, LANDING_SUMMARY);
export const { serveOwed } = activityStep<AllSettlementActivities>(
  SERVE_OPTIONS,
  'request the paid resource from the upstream',
);
export const { settleQuickly } = proxyLocalActivities<AllSettlementActivities>({
  ...QUICK_OPTIONS,
  summary: 'send the payment and wait until it is confirmed',
});

export const { recordBackfillGivenUp } = databaseStep<DepositActivities>(
  'record that the backfill has given up',
);
export const { planCatchUp } = activityStep<DepositActivities>(
  PLAN_OPTIONS,
  'measure how far the scan is behind',
);
export const { scanRange } = activityStep<DepositActivities>(SCAN_OPTIONS, 'read a range of blocks');
export const { joinRanges } = activityStep<DepositActivities>(
  SCAN_OPTIONS,
  'commit the ranges that were read',
);
export const { scanTail } = activityStep<DepositActivities>(SCAN_OPTIONS, 'follow the chain');
export const { reconcilePage } = activityStep<DepositActivities>(
  SCAN_OPTIONS,
  'compare balances with the database',
);
export const { backfill } = activityStep<DepositActivities>(BACKFILL_OPTIONS, BACKFILL_SUMMARY);
export const { backfill: backfillImport } = activityStep<DepositActivities>(AUDIT_OPTIONS, BACKFILL_SUMMARY);

export const { startMissingRuns } = activityStep<WatchActivities>(
  WATCH_OPTIONS,
  'start settlements that have no workflow run',
);
export const { expireUnsigned } = activityStep<WatchActivities>(
  WATCH_OPTIONS,
  'prove unsigned attempts dead',
);
export const { startDueAudits } = activityStep<WatchActivities>(WATCH_OPTIONS, 'start audits that are due');
export const { watchWallet } = activityStep<WatchActivities>(
  WATCH_OPTIONS,
  'compare wallet signatures with the database',
);

export const { nextDelivery } = databaseStep<DeliverySteps>('find the next event');
export const { giveUpDelivery } = databaseStep<DeliverySteps>('store the event as a dead letter');

/** One try per activity attempt. The sender's deadline is below the timeout, so that two tries never overlap. */
export function deliverActivity({ firstRetryMs, longestRetryMs }: Patience) {
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
