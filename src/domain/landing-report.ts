import type { StatusReason } from './settlement.ts';

/** Name of the signal with a {@link LandingReport}, sent by the waiting activity to its own workflow. */
export const LANDING_REPORT = 'landingReport';

/** Progress of a landing wait. For display only: a lost, late or repeated report changes no decision. */
export interface LandingReport {
  readonly n: number;
  readonly status: 'sending' | 'confirmed' | 'held';
  readonly reason: StatusReason | null;
}
