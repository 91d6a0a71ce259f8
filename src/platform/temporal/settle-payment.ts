import { setTimeout as sleep } from 'node:timers/promises';
import { type Client, WithStartWorkflowOperation } from '@temporalio/client';
import { DomainError } from '../../domain/errors.ts';
import { QUICK_TASK_QUEUE } from '../../domain/ids.ts';
import type { AwaitedCommitment } from '../../domain/settlement.ts';
import { type SettlementView, settlementReached } from '../../workflows/messages.ts';

interface Wait {
  readonly reached: Promise<SettlementView>;
  /** By `performance.now()`. */
  readonly endMs: number;
}

/** Payment workflows. Callers in this process share waits: a workflow accepts ten updates at a time. */
export class PaymentRuns {
  readonly #client: Client;
  readonly #waits = new Map<string, Wait>();

  constructor(client: Client) {
    this.#client = client;
  }

  /**
   * Starts or joins a payment's workflow, and waits until it has reached the commitment or ended. Returns the state
   * that the workflow reports; only PostgreSQL has what the payment bought. Rejects without a result within
   * `withinMs`; the workflow may continue.
   */
  async reach(id: string, commitment: AwaitedCommitment, withinMs: number): Promise<SettlementView> {
    const late = new AbortController();
    try {
      return await Promise.race([
        this.#sharedWait(id, commitment, withinMs),
        sleep(withinMs, undefined, { signal: late.signal }).then((): never => {
          throw new DomainError('Unavailable', `payment ${id} is not ${commitment} after ${withinMs} ms`);
        }),
      ]);
    } finally {
      late.abort();
    }
  }

  /** Waits at least `withinMs`. A new wait lasts twice as long, so that later callers can share it. */
  #sharedWait(id: string, commitment: AwaitedCommitment, withinMs: number): Promise<SettlementView> {
    const key = `${commitment}/${id}`;
    const going = this.#waits.get(key);
    if (going !== undefined && going.endMs >= performance.now() + withinMs) return going.reached;
    const lastsMs = 2 * withinMs;
    const reached = this.#reach(id, commitment, lastsMs).finally(() => {
      if (this.#waits.get(key) === wait) this.#waits.delete(key);
    });
    const wait = { reached, endMs: performance.now() + lastsMs };
    this.#waits.set(key, wait);
    return reached;
  }

  async #reach(id: string, commitment: AwaitedCommitment, withinMs: number): Promise<SettlementView> {
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
