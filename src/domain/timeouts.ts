/**
 * How long Temporal waits for a worker before it gives the work to another one, and how long steps wait between two tries, in
 * milliseconds. The programs that tests start are built with shorter times: `test/support/short-timeouts.ts`.
 */
export const TIMEOUTS = {
  /** For one workflow task. */
  workflowTaskMs: 10_000,
  /** For the worker that has the workflow in memory to take its next task. */
  stickyQueueMs: 10_000,
  /** For one local activity: a short PostgreSQL transaction. */
  recordMs: 10_000,
  /** For the preparation of an attempt: reads of the chain and one PostgreSQL transaction. */
  prepareMs: 30_000,
  /** For the part of a settlement that its caller waits for: a preparation, signatures in this process, and two seconds. */
  quickMs: 10_000,
  /** For one question to the upstream of a paid route. */
  serveMs: 120_000,
  /** For the next heartbeat of an activity. */
  heartbeatMs: 10_000,
  /** Between two heartbeats. */
  heartbeatEveryMs: 3_000,
  /** Between two signals of a landing to its run, at least: each costs about five history events, and evidence may change for days. */
  landingSignalMs: 30_000,
  /** Between two tries of a step, at most. */
  longestRetryMs: 15_000,
  /** Until a preparation that waits for something else is tried again; later tries of the same wait follow after up to six times as long. */
  prepareAgainMs: 5_000,
  /** Between two looks at a settlement that only an operator, or a restored row, can continue. */
  operatorLookMs: 15_000,
} as const;
