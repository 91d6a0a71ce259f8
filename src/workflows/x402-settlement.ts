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
 * because it crashed, is served here. Runs under the settlement's id, `x402/<network>/<sha256 of the message>`. Every
 * run continues from PostgreSQL.
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
  /** Null if an earlier run has waited for the landing. */
  let owes: boolean | null = null;
  await settle(progress, {
    prepare: async () => {
      progress.resume(await act.settleQuickly({ id, shown: progress.displayedStatus }));
      return isTerminal(progress.status) ? null : progress.attempt;
    },
    tasksOf: ({ tasks = [] }) => tasks,
    hold: (reason) => act.holdSettlement({ id, reason }),
    land: async (attempt) => {
      const { landing, isOwed } = await act.landPayment(attempt);
      owes = isOwed;
      return landing;
    },
  });
  if (progress.status === 'finalized' && (owes ?? (await act.isOwed({ id })))) await act.serveOwed({ id });
  await condition(allHandlersFinished);
  if (!isTerminal(progress.status)) await continueAsNew<typeof x402Settlement>({ id });
  const { status, reason, signature } = progress.view();
  return { status, reason, signature };
}
setWorkflowOptions(pinnedIfVersioned, x402Settlement);
