import {
  allHandlersFinished,
  condition,
  continueAsNew,
  setHandler,
  setWorkflowOptions,
} from '@temporalio/workflow';
import { isTerminal } from '../domain/settlement.ts';
import type { SettlementEnd } from '../domain/steps.ts';
import * as act from './activity-proxies.ts';
import { giveSignature } from './messages.ts';
import { settle } from './settle.ts';
import { SettlementProgress } from './settlement-progress.ts';
import { pinnedIfVersioned } from './versioning.ts';

/**
 * Settles one obligation of a kind that has no workflow of its own, such as the creation of a nonce account. Runs under
 * the settlement's id, `<kind>/<subject>`. Every run continues from the attempts in PostgreSQL.
 *
 * @throws ApplicationFailure of type NotFound
 */
export async function settlement({ id }: { readonly id: string }): Promise<SettlementEnd> {
  const progress = new SettlementProgress(id, `settles \`${id}\``);
  setHandler(giveSignature, (signature) => act.storeSignature({ id, ...signature }), {
    description: 'Stores a signature that was made outside Sluice, for example on an offline computer',
  });
  progress.resume(await act.findSettlement({ id }));
  await settle(progress, {
    prepare: async () => {
      progress.recordPreparation(await act.prepareSettlement({ id, shown: progress.displayedStatus }));
      return progress.attempt;
    },
    tasksOf: ({ tasks = [] }) => tasks,
    hold: (reason) => act.holdSettlement({ id, reason }),
  });
  await condition(allHandlersFinished);
  if (!isTerminal(progress.status)) await continueAsNew<typeof settlement>({ id });
  const { status, reason, signature } = progress.view();
  return { status, reason, signature };
}
setWorkflowOptions(pinnedIfVersioned, settlement);
