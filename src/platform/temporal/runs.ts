import { type Client, WorkflowNotFoundError } from '@temporalio/client';
import type { BackfillOrder } from '../../domain/backfill.ts';
import type { AwaitedCommitment } from '../../domain/settlement.ts';
import type { WithdrawalTerms } from '../../domain/withdrawal.ts';
import { type NamedSettlement, startBackfill, startSettlement, startWithdrawal } from './starts.ts';

const RUNNING =
  'WorkflowType IN ("withdrawal", "settlement", "x402Settlement", "backfill") AND ExecutionStatus = "Running"';
const BACKFILLING = 'WorkflowType = "backfill" AND ExecutionStatus = "Running"';

export class TemporalRuns {
  readonly #client: Client;

  constructor(client: Client) {
    this.#client = client;
  }

  /** Workflow ids of running workflows by the visibility store, which may lag a moment. */
  async running(): Promise<ReadonlySet<string>> {
    const ids = new Set<string>();
    for await (const { workflowId } of this.#client.workflow.list({ query: RUNNING })) ids.add(workflowId);
    return ids;
  }

  /** Result of the newest run of a workflow id; `none` if it is running, was stopped by hand or is unknown. */
  async lastEnd(workflowId: string): Promise<'completed' | 'failed' | 'none'> {
    try {
      const { status } = await this.#client.workflow.getHandle(workflowId).describe();
      if (status.name === 'COMPLETED') return 'completed';
      return status.name === 'FAILED' ? 'failed' : 'none';
    } catch (error) {
      if (error instanceof WorkflowNotFoundError) return 'none';
      throw error;
    }
  }

  /** Starts a workflow unless one is running, whatever the result of earlier runs. */
  async start(terms: WithdrawalTerms): Promise<void> {
    await startWithdrawal(this.#client, terms, 'ALLOW_DUPLICATE');
  }

  /** {@link start} for a settlement of another kind. */
  async startSettlement(settlement: NamedSettlement, answersAt: AwaitedCommitment): Promise<void> {
    await startSettlement(this.#client, settlement, answersAt);
  }

  /** Start times of running backfills by workflow id, also from the visibility store. */
  async runningBackfills(): Promise<ReadonlyMap<string, Date>> {
    const since = new Map<string, Date>();
    for await (const { workflowId, startTime } of this.#client.workflow.list({ query: BACKFILLING }))
      since.set(workflowId, startTime);
    return since;
  }

  async startBackfill(order: BackfillOrder): Promise<void> {
    await startBackfill(this.#client, order);
  }
}
