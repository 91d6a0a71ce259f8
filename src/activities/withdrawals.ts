import { createAdmission } from './admission.ts';
import { createLanding, type LandingDeps } from './landing.ts';
import { createPreparation, type PreparationDeps } from './preparation.ts';

/** Every activity that the withdrawal workflow runs on the chain worker. */
export function createWithdrawalActivities(deps: PreparationDeps & LandingDeps) {
  return { ...createAdmission(deps), ...createPreparation(deps), ...createLanding(deps) };
}

export type WithdrawalActivities = ReturnType<typeof createWithdrawalActivities>;
