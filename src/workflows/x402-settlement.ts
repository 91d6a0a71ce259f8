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
import { settlementReached } from './messages.ts';
import { settle } from './settle.ts';
import { SettlementProgress } from './settlement-progress.ts';
import { pinnedIfVersioned } from './versioning.ts';

/**
 * Settles an x402 payment whose buyer waits for `confirmed`. The first part is one local activity of about a second,
 * unless the fee payer's key is on the signer workers. A finalized payment that the gateway has not served, for example
 * because it crashed, is served here. Runs under the settlement's id, `x402/<network>/<sha256 of the message>`. Every run
 * continues from PostgreSQL: a payment that the x402 worker settles itself has a run only if it ends late.
 *
 * @throws ApplicationFailure of type NotFound
 */
export async function x402Settlement({ id }: { readonly id: string }): Promise<SettlementEnd> {
  const progress = new SettlementProgress(id, `settles \`${id}\``);
  setHandler(
    settlementReached,
    async (commitment) => {
      await progress.waitUntil(() => progress.status === commitment);
      return progress.view();
    },
    {
      description: 'Waits until the settlement reaches the commitment or ends, or the run continues as new',
    },
  );
  /** Whether the buyer must still be served; null if no step has returned it. */
  let owes: boolean | null = null;
  await settle(progress, {
    prepare: async () => {
      const { isOwed, ...state } = await act.settleQuickly({ id, shown: progress.displayedStatus });
      progress.resume(state);
      owes = isOwed ?? null;
      return isTerminal(progress.status) ? null : progress.attempt;
    },
    tasksOf: ({ tasks = [] }) => tasks,
    hold: (reason) => act.holdSettlement({ id, reason }),
    land: async (step) => {
      const { landing, isOwed } = await act.landPayment(step);
      owes = isOwed;
      return landing;
    },
  });
  if (progress.status === 'finalized' && (owes ?? (await act.isOwed({ id })))) await act.serveOwed({ id });
  // Usually no caller waits: a condition would cost processor time in every run.
  if (!allHandlersFinished()) await condition(allHandlersFinished);
  if (!isTerminal(progress.status)) await continueAsNew<typeof x402Settlement>({ id });
  const { status, reason, signature } = progress.view();
  return { status, reason, signature };
}
setWorkflowOptions(pinnedIfVersioned, x402Settlement);
