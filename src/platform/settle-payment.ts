import { type Client, WithStartWorkflowOperation } from '@temporalio/client';
import { QUICK_TASK_QUEUE } from '../domain/ids.ts';
import { type SettlementView, settlementReached } from '../workflows/messages.ts';

/** Runs of payments. Callers of this process share one wait for each: a workflow takes ten updates at a time. */
export class PaymentRuns {
  readonly #client: Client;
  readonly #waits = new Map<string, Promise<SettlementView>>();

  constructor(client: Client) {
    this.#client = client;
  }

  /**
   * Starts the run of a payment, or joins the one that goes on, and waits until it has reached this commitment or has ended. Answers
   * where the run says that it is; only Postgres says what it has bought. Rejects where Temporal does not answer within `withinMs`; the run may go on all the same.
   */
  reach(id: string, commitment: 'confirmed' | 'finalized', withinMs: number): Promise<SettlementView> {
    const key = `${commitment}/${id}`;
    const going = this.#waits.get(key);
    if (going !== undefined) return going;
    const wait = this.#reach(id, commitment, withinMs).finally(() => this.#waits.delete(key));
    this.#waits.set(key, wait);
    return wait;
  }

  async #reach(id: string, commitment: 'confirmed' | 'finalized', withinMs: number): Promise<SettlementView> {
    const startWorkflowOperation = new WithStartWorkflowOperation('x402Settlement', {
      workflowId: id,
      taskQueue: QUICK_TASK_QUEUE,
      args: [{ id }],
      workflowIdConflictPolicy: 'USE_EXISTING',
      staticSummary: id,
    });
    return this.#client.withDeadline(Date.now() + withinMs, () =>
      this.#client.workflow.executeUpdateWithStart(settlementReached, {
        args: [commitment],
        startWorkflowOperation,
      }),
    );
  }
}
