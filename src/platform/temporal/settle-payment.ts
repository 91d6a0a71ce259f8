import { setTimeout as sleep } from 'node:timers/promises';
import { type Client, WithStartWorkflowOperation } from '@temporalio/client';
import { DomainError } from '../../domain/errors.ts';
import { QUICK_TASK_QUEUE } from '../../domain/ids.ts';
import { type SettlementView, settlementReached } from '../../workflows/messages.ts';

type Commitment = 'confirmed' | 'finalized';

interface Wait {
  readonly reached: Promise<SettlementView>;
  /** By `performance.now()`. */
  readonly endMs: number;
}

/** Runs of payments. Callers of this process share a wait that lasts long enough for each: a workflow takes ten updates at a time. */
export class PaymentRuns {
  readonly #client: Client;
  readonly #waits = new Map<string, Wait>();

  constructor(client: Client) {
    this.#client = client;
  }

  /**
   * Starts the run of a payment, or joins the one that goes on, and waits until it has reached this commitment or has ended. Answers
   * where the run says that it is; only Postgres says what it has bought. Rejects where Temporal does not answer this caller within
   * `withinMs`; the run may go on all the same.
   */
  async reach(id: string, commitment: Commitment, withinMs: number): Promise<SettlementView> {
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

  /** Lasts for `withinMs` at least. A new one lasts twice as long, so that callers who come meanwhile can share it. */
  #sharedWait(id: string, commitment: Commitment, withinMs: number): Promise<SettlementView> {
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

  async #reach(id: string, commitment: Commitment, withinMs: number): Promise<SettlementView> {
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
