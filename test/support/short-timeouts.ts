import type { TIMEOUTS as PRODUCTION } from '../../src/domain/timeouts.ts';

/** The timeouts of the programs that tests start: a killed worker is replaced soon, and a busy machine still meets them. */
export const TIMEOUTS: { readonly [Name in keyof typeof PRODUCTION]: number } = {
  workflowTaskMs: 4_000,
  stickyQueueMs: 2_000,
  recordMs: 5_000,
  prepareMs: 8_000,
  quickMs: 8_000,
  serveMs: 30_000,
  directRunDelayMs: 5_000,
  heartbeatMs: 4_000,
  heartbeatEveryMs: 500,
  landingSignalMs: 2_000,
  longestRetryMs: 2_000,
  prepareAgainMs: 1_000,
  operatorLookMs: 2_000,
  nodeReportMs: 5_000,
};
