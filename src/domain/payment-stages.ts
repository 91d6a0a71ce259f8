/**
 * Stages of a sale that are timed. The gateway measures `checks`, `simulation`, `upstream` and `answer`; the x402 worker,
 * which settles directly, measures `record`, `sign`, `send` and `confirmed`, and `upstream` for requests that it serves.
 * Without direct settlement the gateway measures `record`, and as `confirmed` its wait for the workflow.
 */
export const PAYMENT_STAGES = [
  /** Rules of the terms. Without a call to a node, except for a transaction that its buyer sent. */
  'checks',
  'simulation',
  /** The commit of the payment, with its signed attempt if the worker settles it directly. */
  'record',
  'sign',
  /** From each send until the first node accepts the bytes. */
  'send',
  /** From the commit until a node reports the payment as confirmed. */
  'confirmed',
  /** Until the upstream's response is whole; for a streamed one, until its head. */
  'upstream',
  /** A served request, from its arrival to the last byte of its answer. */
  'answer',
] as const;

export type PaymentStage = (typeof PAYMENT_STAGES)[number];

export type ObserveStage = (stage: PaymentStage, seconds: number) => void;

/** The histogram, which every process exports under this name. */
export const STAGE_METRIC = {
  name: 'sluice_x402_stage_seconds',
  help: 'Seconds of each stage of an x402 sale.',
  bucketsSeconds: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30],
} as const;
