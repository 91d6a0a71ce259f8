import type { StatusReason } from './settlement.ts';

/** Why a settlement is `preparing` again: its newest attempt failed on chain for a temporary cause. */
export const ATTEMPT_FAILED = 'attempt_failed';

/** Why a settlement is `held` after too many such failures; also the kind of its alert. */
export const KEEPS_FAILING = 'payment_keeps_failing';

/** Delay from each failure's verdict to the next attempt. */
const WAITS_MS = [5_000, 20_000, 80_000, 300_000] as const;

/** After this many failures an operator decides whether as many more attempts follow. */
export const FAILURES_PER_REVIEW = WAITS_MS.length + 1;

/** Delay in ms before the next attempt. After every fifth failure the alert holds the settlement. */
export function waitAfter(failures: number): number {
  return WAITS_MS[(failures - 1) % FAILURES_PER_REVIEW] ?? 0;
}

export function keepsFailing(failures: number): boolean {
  return failures > 0 && failures % FAILURES_PER_REVIEW === 0;
}

/** The reason of a settlement that waits for its next attempt. `why`: how attempt `n` failed. */
export function attemptFailed(n: number, reason: string): StatusReason {
  return { code: ATTEMPT_FAILED, message: `attempt ${n} failed, and the next one follows: ${reason}` };
}

export function paymentKeepsFailing(failures: number, reason: string): StatusReason {
  const message = `${failures} attempts failed on chain, the last one because ${reason}; find the cause, then close this alert with a reason: ${FAILURES_PER_REVIEW} more attempts follow`;
  return { code: KEEPS_FAILING, message };
}
