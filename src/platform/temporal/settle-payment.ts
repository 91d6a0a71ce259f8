import { setTimeout as sleep } from 'node:timers/promises';
import { type Client, WithStartWorkflowOperation } from '@temporalio/client';
import { DomainError } from '../../domain/errors.ts';
import type { AwaitedCommitment } from '../../domain/settlement.ts';
import { type SettlementView, settlementReached } from '../../workflows/messages.ts';
import { QUICK_WORKFLOW, quickRunOptions } from './starts.ts';

interface Wait {
  readonly result: Promise<SettlementView>;
  /** End of the wait on the clock of `performance.now()`. */
  readonly endMs: number;
}

/**
 * Workflows of payments. Callers in this process share waits, because a workflow accepts only ten updates at a time.
 */
export class PaymentRuns {
  readonly #client: Client;
  readonly #waits = new Map<string, Wait>();

  constructor(client: Client) {
    this.#client = client;
  }

  /**
   * Starts or joins a payment's workflow, and waits until the payment has reached the commitment or ended. Returns the
   * state that the workflow reports; what the payment bought is only in PostgreSQL. Throws Unavailable after
   * `withinMs`; the workflow continues.
   */
  async reach(id: string, commitment: AwaitedCommitment, withinMs: number): Promise<SettlementView> {
    const timer = new AbortController();
    try {
      return await Promise.race([
        this.#sharedWait(id, commitment, withinMs),
        sleep(withinMs, undefined, { signal: timer.signal }).then((): never => {
          throw new DomainError(
            'Unavailable',
            `payment ${id} is not ${commitment} after ${withinMs} ms: its settlement continues`,
          );
        }),
      ]);
    } finally {
      timer.abort();
    }
  }

  /** A wait of at least `withinMs`. A new wait lasts twice as long, so that later callers can share it. */
  #sharedWait(id: string, commitment: AwaitedCommitment, withinMs: number): Promise<SettlementView> {
    const key = `${commitment}/${id}`;
    const current = this.#waits.get(key);
    if (current !== undefined && current.endMs >= performance.now() + withinMs) return current.result;
    const durationMs = 2 * withinMs;
    const result = this.#reach(id, commitment, durationMs).finally(() => {
      if (this.#waits.get(key) === wait) this.#waits.delete(key);
    });
    const wait = { result, endMs: performance.now() + durationMs };
    this.#waits.set(key, wait);
    return result;
  }

  async #reach(id: string, commitment: AwaitedCommitment, withinMs: number): Promise<SettlementView> {
    const startWorkflowOperation = new WithStartWorkflowOperation(QUICK_WORKFLOW, {
      ...quickRunOptions(id),
      workflowIdConflictPolicy: 'USE_EXISTING',
    });
    return this.#client.withDeadline(Date.now() + withinMs, () =>
      this.#client.workflow.executeUpdateWithStart(settlementReached, {
        args: [commitment],
        startWorkflowOperation,
      }),
    );
  }
}
