import { type Client, WorkflowNotFoundError } from '@temporalio/client';
import type { AuditOrder } from '../../domain/audit.ts';
import type { RescanOrder } from '../../domain/rescan.ts';
import type { WithdrawalTerms } from '../../domain/withdrawal.ts';
import { startAudit } from './start-audit.ts';
import { startRescan } from './start-rescan.ts';
import { type NamedSettlement, startSettlement } from './start-settlement.ts';
import { startWithdrawal } from './start-withdrawal.ts';

const RUNNING =
  'WorkflowType IN ("withdrawal", "settlement", "x402Settlement", "depositRescan") AND ExecutionStatus = "Running"';
const AUDITING = 'WorkflowType = "addressAudit" AND ExecutionStatus = "Running"';

/** The runs of settlements, of rescans and of audits as Temporal knows them. */
export class TemporalRuns {
  readonly #client: Client;

  constructor(client: Client) {
    this.#client = client;
  }

  /** Workflow ids of the runs that go on, as the visibility store shows them: a hint that may be a moment old. */
  async running(): Promise<ReadonlySet<string>> {
    const ids = new Set<string>();
    for await (const { workflowId } of this.#client.workflow.list({ query: RUNNING })) ids.add(workflowId);
    return ids;
  }

  /** How the newest run under this workflow id ended; `none` where it goes on, was stopped by hand or is not known any more. */
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

  /** Starts a run where none goes on, whatever became of the earlier ones. */
  async start(terms: WithdrawalTerms): Promise<void> {
    await startWithdrawal(this.#client, terms, 'ALLOW_DUPLICATE');
  }

  /** The same for a settlement of another kind. */
  async startSettlement(settlement: NamedSettlement, answersAt: 'confirmed' | 'finalized'): Promise<void> {
    await startSettlement(this.#client, settlement, answersAt);
  }

  /** Starts a rescan where none of these slots goes on. */
  async startRescan(order: RescanOrder): Promise<void> {
    await startRescan(this.#client, order);
  }

  /** The audits that go on, by workflow id, and since when each does: a hint, too. */
  async runningAudits(): Promise<ReadonlyMap<string, Date>> {
    const since = new Map<string, Date>();
    for await (const { workflowId, startTime } of this.#client.workflow.list({ query: AUDITING }))
      since.set(workflowId, startTime);
    return since;
  }

  /** Starts an audit where none of this order goes on. */
  async startAudit(order: AuditOrder): Promise<void> {
    await startAudit(this.#client, order);
  }
}
