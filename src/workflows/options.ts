import type { RetryPolicy } from '@temporalio/common';
import type { ActivityOptions, LocalActivityOptions } from '@temporalio/workflow';
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
export const RECORD: LocalActivityOptions = {
  startToCloseTimeout: TIMEOUTS.recordMs,
  localRetryThreshold: '5 seconds',
  retry,
};

/** Reads the chain, then commits one PostgreSQL transaction. */
export const PREPARE: ActivityOptions = {
  summary: 'check, compose, reserve',
  startToCloseTimeout: TIMEOUTS.prepareMs,
  retry,
};

/** From preparation to `confirmed`, or to a short deadline, because a caller waits. */
export const QUICK: LocalActivityOptions = {
  summary: 'settle until it is confirmed',
  startToCloseTimeout: TIMEOUTS.quickMs,
  localRetryThreshold: '5 seconds',
  retry: { ...retry, initialInterval: '100 milliseconds' },
};

/** Waits for one signature, however slow the signer. After a worker's death another one continues. */
export const SIGN: ActivityOptions = {
  summary: 'sign',
  taskQueue: SIGNER_TASK_QUEUE,
  startToCloseTimeout: '1 day',
  heartbeatTimeout: TIMEOUTS.heartbeatMs,
  retry,
};

/** Waits for a block or a proof of death, without limit. A silent worker is replaced after the heartbeat timeout. */
export const LAND: ActivityOptions = {
  summary: 'send until it has landed or is proved dead',
  taskQueue: LANDING_TASK_QUEUE,
  startToCloseTimeout: '30 days',
  heartbeatTimeout: TIMEOUTS.heartbeatMs,
  retry,
};

/** {@link LAND} on workers of quick settlements: buyers' payments take no slot from withdrawals. */
export const LAND_QUICK: ActivityOptions = { ...LAND, taskQueue: QUICK_TASK_QUEUE };

/** Requests the paid resource from the upstream until it answers. */
export const SERVE: ActivityOptions = {
  summary: 'ask the upstream for what is paid',
  taskQueue: QUICK_TASK_QUEUE,
  startToCloseTimeout: TIMEOUTS.serveMs,
  retry: { ...retry, maximumInterval: '1 minute' },
};

/** Reads blocks without a time limit. On cancellation it commits the current work, and the workflow waits for that. */
export const SCAN: ActivityOptions = {
  taskQueue: WATCH_TASK_QUEUE,
  startToCloseTimeout: '1 day',
  heartbeatTimeout: TIMEOUTS.heartbeatMs,
  cancellationType: 'WAIT_CANCELLATION_COMPLETED',
  retry,
};

/** Measures how far the scan is behind. Errors of nodes or PostgreSQL are part of the result. */
export const PLAN: ActivityOptions = {
  taskQueue: WATCH_TASK_QUEUE,
  startToCloseTimeout: '2 minutes',
  retry,
};

/** Reads earlier blocks or histories, possibly for hours: its own task queue, so that nothing waits for it. */
export const AUDIT: ActivityOptions = { ...SCAN, taskQueue: AUDIT_TASK_QUEUE };

/** Reads blocks that nodes may have pruned. Gives up in the end, because nothing depends on it. */
export const BACKFILL: ActivityOptions = { ...AUDIT, scheduleToCloseTimeout: '1 day' };

/** One round of a schedule. Gives up in time for the next round. */
export const WATCH: ActivityOptions = {
  taskQueue: WATCH_TASK_QUEUE,
  startToCloseTimeout: '2 minutes',
  scheduleToCloseTimeout: '5 minutes',
  retry,
};

/** One try. The sender's deadline ends it before another worker may begin the next. PostgreSQL counts tries. */
export function deliverOptions({ firstRetryMs, longestRetryMs }: Patience): ActivityOptions {
  return {
    summary: 'tell the endpoint',
    taskQueue: WEBHOOK_TASK_QUEUE,
    startToCloseTimeout: '30 seconds',
    retry: {
      initialInterval: firstRetryMs,
      backoffCoefficient: 2,
      maximumInterval: longestRetryMs,
      nonRetryableErrorTypes: [...NON_RETRYABLE_CODES],
    },
  };
}
