import { WITHDRAWAL } from '../domain/settlement.ts';
import { createLanding, type LandingDeps } from '../settlement/land.ts';
import { createAdmission } from '../withdrawals/admission.ts';
import { createPreparation } from '../withdrawals/prepare.ts';

/** Every activity that the withdrawal workflow runs on the chain worker. `kinds` has that of withdrawals. */
export function createWithdrawalActivities(deps: LandingDeps) {
  const { ledger, kinds } = deps;
  const kind = kinds[WITHDRAWAL];
  if (kind === undefined) throw new Error('withdrawals are a kind of settlements');
  return { ...createAdmission(deps), ...createPreparation({ ledger, kind }), ...createLanding(deps) };
}

export type WithdrawalActivities = ReturnType<typeof createWithdrawalActivities>;
