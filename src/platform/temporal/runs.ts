import { type Client, WorkflowNotFoundError } from '@temporalio/client';
import type { BackfillCommand } from '../../domain/backfill.ts';
import type { AwaitedCommitment } from '../../domain/settlement.ts';
import type { WithdrawalTerms } from '../../domain/withdrawal.ts';
import { type SettlementRef, startBackfill, startSettlement, startWithdrawal } from './starts.ts';

const RUNNING_BACKFILLS = 'WorkflowType = "backfill" AND ExecutionStatus = "Running"';
const RUNNING_WORKFLOWS =
  'WorkflowType IN ("withdrawal", "settlement", "x402Settlement", "backfill") AND ExecutionStatus = "Running"';

/**
 * Implements `WorkflowRuns` for the settlement code. Running workflows come from Temporal's visibility store, which can
 * lag.
 */
export function temporalRuns(client: Client) {
  return {
    async running() {
      const ids = new Set<string>();
      for await (const { workflowId } of client.workflow.list({ query: RUNNING_WORKFLOWS }))
        ids.add(workflowId);
      return ids;
    },

    async runningBackfills() {
      const starts = new Map<string, Date>();
      for await (const { workflowId, startTime } of client.workflow.list({ query: RUNNING_BACKFILLS }))
        starts.set(workflowId, startTime);
      return starts;
    },

    async lastEnd(workflowId: string): Promise<'completed' | 'failed' | 'none'> {
      try {
        const { status } = await client.workflow.getHandle(workflowId).describe();
        if (status.name === 'COMPLETED') return 'completed';
        return status.name === 'FAILED' ? 'failed' : 'none';
      } catch (error) {
        if (error instanceof WorkflowNotFoundError) return 'none';
        throw error;
      }
    },

    start: (terms: WithdrawalTerms) => startWithdrawal(client, terms, 'ALLOW_DUPLICATE'),
    startSettlement: async (settlement: SettlementRef, answersAt: AwaitedCommitment) =>
      void (await startSettlement(client, settlement, answersAt)),
    startBackfill: (command: BackfillCommand) => startBackfill(client, command),
  };
}
