import { allHandlersFinished, condition, setHandler } from '@temporalio/workflow';
import { isTerminal } from '../domain/settlement.ts';
import type { SettlementEnd } from '../domain/steps.ts';
import * as act from './activities.ts';
import { settlementReached } from './messages.ts';
import { settle } from './settle.ts';
import { SettlementProgress } from './settlement-progress.ts';

/**
 * Settles one obligation whose callers wait for `confirmed`, as a payment of x402: the first part is one local activity of about a
 * second. Runs on the task queue of those workers, under the id of the settlement; any number of runs go on from the attempts in
 * Postgres.
 *
 * @throws ApplicationFailure of type NotFound
 */
export async function quickSettlement({ id }: { readonly id: string }): Promise<SettlementEnd> {
  const progress = new SettlementProgress(id, `settles \`${id}\``);
  setHandler(
    settlementReached,
    async (commitment) => {
      await progress.ended(() => progress.status === commitment);
      return progress.view();
    },
    { description: 'Waits until it is confirmed, or finalized, or has ended otherwise' },
  );
  await settle(progress, {
    prepare: async () => {
      progress.stand(await act.settleQuickly({ id, shown: progress.shown }));
      return isTerminal(progress.status) ? null : progress.attempt;
    },
    tasksOf: () => [],
    hold: (reason) => act.holdSettlement({ id, reason }),
    land: act.landQuickAttempt,
  });
  await condition(allHandlersFinished);
  const { status, reason, signature } = progress.view();
  return { status, reason, signature };
}
