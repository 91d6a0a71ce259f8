import type { StatusReason } from './settlement.ts';

/** Reason code of a settlement that is `preparing` again, because its newest attempt failed for a temporary cause. */
export const ATTEMPT_FAILED = 'attempt_failed';

/** Reason code of a settlement that is `held` after too many such failures; also the kind of its alert. */
export const KEEPS_FAILING = 'payment_keeps_failing';

/** Delay from the verdict on a failed attempt to the next attempt. */
const DELAYS_MS = [5_000, 20_000, 80_000, 300_000] as const;

/** After this many failures an operator decides whether as many more attempts follow. */
const FAILURES_PER_REVIEW = DELAYS_MS.length + 1;

/** Delay in ms before the next attempt; 0 after every fifth failure, when the alert holds the settlement. */
export function waitAfter(failures: number): number {
  return DELAYS_MS[(failures - 1) % FAILURES_PER_REVIEW] ?? 0;
}

export function keepsFailing(failures: number): boolean {
  return failures > 0 && failures % FAILURES_PER_REVIEW === 0;
}

/** The reason of a settlement that waits for its next attempt. `reason`: how attempt `n` failed. */
export function attemptFailed(n: number, reason: string): StatusReason {
  return {
    code: ATTEMPT_FAILED,
    message: `attempt ${n} failed, and another one follows automatically: ${reason}`,
  };
}

export function paymentKeepsFailing(failures: number, reason: string): StatusReason {
  const message = `${failures} attempts failed on chain, the last one because ${reason}; remove the cause, then close this alert with a reason, which allows ${FAILURES_PER_REVIEW} more attempts`;
  return { code: KEEPS_FAILING, message };
}
