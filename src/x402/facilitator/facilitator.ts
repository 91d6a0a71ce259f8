import { Budgets } from '../budgets.ts';
import type { FacilitatorDeps } from './deps.ts';
import { Examiner } from './examiner.ts';
import { Simulations } from './simulations.ts';

export interface Facilitator {
  readonly deps: FacilitatorDeps;
  readonly examiner: Examiner;
  readonly budgets: Budgets;
  readonly simulations: Simulations;
}

export function createFacilitator(deps: FacilitatorDeps): Facilitator {
  return {
    deps,
    examiner: new Examiner(deps),
    budgets: new Budgets(deps),
    simulations: new Simulations(deps),
  };
}
