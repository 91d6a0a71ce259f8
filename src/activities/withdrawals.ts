import { WITHDRAWAL } from '../domain/settlement.ts';
import { createLanding, type LandingDeps } from '../settlement/land.ts';
import { createAdmission } from '../withdrawals/admission.ts';
import { createPreparation } from '../withdrawals/prepare.ts';

/** Activities of the withdrawal workflow on the chain worker. Throws if `kinds` lacks withdrawals. */
export function createWithdrawalActivities(deps: LandingDeps) {
  const { ledger, kinds } = deps;
  const kind = kinds[WITHDRAWAL];
  if (kind === undefined) throw new Error('withdrawals are a kind of settlements');
  return { ...createAdmission(deps), ...createPreparation({ ledger, kind }), ...createLanding(deps) };
}

export type WithdrawalActivities = ReturnType<typeof createWithdrawalActivities>;
