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

/** No retry can help these, so the workflow sees them at once; everything else is retried for ever. */
const retry = {
  initialInterval: '500 milliseconds',
  backoffCoefficient: 2,
  maximumInterval: TIMEOUTS.longestRetryMs,
  nonRetryableErrorTypes: [...NON_RETRYABLE_CODES],
} satisfies RetryPolicy;

/** One short Postgres transaction, run in the worker that has the workflow task: one history event instead of six. */
export const RECORD: LocalActivityOptions = {
  startToCloseTimeout: TIMEOUTS.recordMs,
  localRetryThreshold: '5 seconds',
  retry,
};

/** Reads the chain, then commits one Postgres transaction. */
export const PREPARE: ActivityOptions = {
  summary: 'check, compose, reserve',
  startToCloseTimeout: TIMEOUTS.prepareMs,
  retry,
};

/** From nothing to `confirmed`, or to a little less where that takes long: its caller waits. A worker that died is replaced. */
export const QUICK: LocalActivityOptions = {
  summary: 'settle until it is confirmed',
  startToCloseTimeout: TIMEOUTS.quickMs,
  localRetryThreshold: '5 seconds',
  retry: { ...retry, initialInterval: '100 milliseconds' },
};

/** Waits for one signature, however slow the signer; no chain and no database on that side. A worker that died is replaced. */
export const SIGN: ActivityOptions = {
  summary: 'sign',
  taskQueue: SIGNER_TASK_QUEUE,
  startToCloseTimeout: '1 day',
  heartbeatTimeout: TIMEOUTS.heartbeatMs,
  retry,
};

/** Waits for a block or for a proof of death, however long that takes; a silent worker is replaced after the heartbeat timeout. */
export const LAND: ActivityOptions = {
  summary: 'send until it has landed or is proved dead',
  taskQueue: LANDING_TASK_QUEUE,
  startToCloseTimeout: '30 days',
  heartbeatTimeout: TIMEOUTS.heartbeatMs,
  retry,
};

/** As {@link LAND}, on the workers of quick settlements: what buyers send takes no place from withdrawals, and shares one poll. */
export const LAND_QUICK: ActivityOptions = { ...LAND, taskQueue: QUICK_TASK_QUEUE };

/** Asks the upstream for what a buyer has paid, until it answers. */
export const SERVE: ActivityOptions = {
  summary: 'ask the upstream for what is paid',
  taskQueue: QUICK_TASK_QUEUE,
  startToCloseTimeout: TIMEOUTS.serveMs,
  retry: { ...retry, maximumInterval: '1 minute' },
};

/** Reads blocks for as long as that takes; cancelled, it commits what it has begun, and that is waited for. */
export const SCAN: ActivityOptions = {
  taskQueue: WATCH_TASK_QUEUE,
  startToCloseTimeout: '1 day',
  heartbeatTimeout: TIMEOUTS.heartbeatMs,
  cancellationType: 'WAIT_CANCELLATION_COMPLETED',
  retry,
};

/** Looks how far the scan is behind; what nodes and the database cannot tell is an answer, too. */
export const PLAN: ActivityOptions = {
  taskQueue: WATCH_TASK_QUEUE,
  startToCloseTimeout: '2 minutes',
  retry,
};

/** Looks again at what is behind the scan, for hours where nodes are slow: among few of its kind, so that nothing else waits for it. */
export const AUDIT: ActivityOptions = { ...SCAN, taskQueue: AUDIT_TASK_QUEUE };

/** Reads blocks that nodes may have pruned meanwhile: given up in the end, as nothing depends on it. */
export const RESCAN: ActivityOptions = { ...AUDIT, scheduleToCloseTimeout: '1 day' };

/** One round of a schedule: given up in time for the next one to find out by itself. */
export const WATCH: ActivityOptions = {
  taskQueue: WATCH_TASK_QUEUE,
  startToCloseTimeout: '2 minutes',
  scheduleToCloseTimeout: '5 minutes',
  retry,
};

/**
 * One try to tell an endpoint, ended by the sender's own deadline before another worker may begin the next. The record counts its tries.
 */
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
