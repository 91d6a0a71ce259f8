import type { StatusReason } from './settlement.ts';

/** Why a settlement is `preparing` again: its newest attempt failed on chain, for a cause that can pass. */
export const ATTEMPT_FAILED = 'attempt_failed';

/** Why a settlement is `held` after too many such failures, and the kind of the alert that holds it. */
export const KEEPS_FAILING = 'payment_keeps_failing';

/** The wait after each failure, from its verdict to the next attempt. */
const WAITS_MS = [5_000, 20_000, 80_000, 300_000] as const;

/** After so many failures an operator decides whether as many more attempts follow. */
export const FAILURES_PER_REVIEW = WAITS_MS.length + 1;

/** How long the next attempt waits after so many failed ones, in ms. After every fifth failure the alert holds it. */
export function waitAfter(failures: number): number {
  return WAITS_MS[(failures - 1) % FAILURES_PER_REVIEW] ?? 0;
}

/** True where the settlement must be held, with an alert. */
export function keepsFailing(failures: number): boolean {
  return failures > 0 && failures % FAILURES_PER_REVIEW === 0;
}

/** The reason that a settlement has while it waits for its next attempt. `reason`: how attempt `n` failed. */
export function attemptFailed(n: number, reason: string): StatusReason {
  return { code: ATTEMPT_FAILED, message: `attempt ${n} failed, and the next one follows: ${reason}` };
}

/** The reason to hold a settlement, and the text of its alert. */
export function paymentKeepsFailing(failures: number, reason: string): StatusReason {
  const message = `${failures} attempts failed on chain, the last one because ${reason}; find the cause, then close this alert with a reason: ${FAILURES_PER_REVIEW} more attempts follow`;
  return { code: KEEPS_FAILING, message };
}
