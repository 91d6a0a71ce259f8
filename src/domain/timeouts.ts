/**
 * Timeouts after which Temporal gives work to another worker, and intervals between retries, in milliseconds. Programs
 * started by tests are built with shorter ones: `test/support/short-timeouts.ts`.
 */
export const TIMEOUTS = {
  workflowTaskMs: 10_000,
  /** How long the worker that caches a workflow has to take its next task. */
  stickyQueueMs: 10_000,
  /** One local activity: a short PostgreSQL transaction. */
  recordMs: 10_000,
  /** Preparation of an attempt: chain reads and one PostgreSQL transaction. */
  prepareMs: 30_000,
  /** The part of a settlement that its caller waits for: a preparation, signatures in this process, and two seconds. */
  quickMs: 10_000,
  /** One request to an upstream: longer than the longest `timeoutSeconds` of a route. */
  serveMs: 660_000,
  /**
   * Start delay of the workflow of a payment that the x402 worker settles itself: longer than most payments take to be
   * final, so that the workflow has nothing left to do.
   */
  directRunDelayMs: 15_000,
  heartbeatMs: 10_000,
  heartbeatEveryMs: 3_000,
  /** Minimum interval of landing signals: each costs about five history events, and a wait may take days. */
  landingSignalMs: 30_000,
  longestRetryMs: 15_000,
  /** Delay before a waiting preparation is retried. The delay of the same wait grows up to sixfold. */
  prepareAgainMs: 5_000,
  /** Interval of checks for an operator's command or a restored row, if only these can continue the settlement. */
  operatorLookMs: 15_000,
  /** Interval at which a worker reports the alerts of its nodes. */
  nodeReportMs: 30_000,
} as const;
