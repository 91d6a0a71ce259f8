import type { StatusReason } from './settlement.ts';

/** Name of the signal with a {@link LandingReport}; sent by the activity that waits, to its own run. */
export const LANDING_REPORT = 'landingReport';

/** How a wait for an attempt looks now. For people only: a lost, late or repeated one changes no decision. */
export interface LandingReport {
  /** The attempt. */
  readonly n: number;
  readonly status: 'sending' | 'confirmed' | 'held';
  readonly reason: StatusReason | null;
}
