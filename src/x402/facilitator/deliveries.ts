import type { ServerResponse } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import type { FacilitatorDeps } from './facilitator.ts';

interface Delivery {
  readonly id: string;
  readonly holder: string;
  readonly key: string | null;
}

const MAX_TRIES = 20;
const RETRY_DELAY_MS = 1_000;

/**
 * Follows the `/settle` responses that report a success. A claim leases each success to one caller. The delivery ends
 * in one of three ways:
 *
 * | the response | the payment | the lease |
 * |---|---|---|
 * | was written whole | becomes `served` | ends |
 * | was cut off, without Idempotency-Key | stays `owed` | is released: the next caller claims the success |
 * | was cut off, with Idempotency-Key | stays `owed` | expires, but never blocks a caller with the same key |
 */
export class SuccessDeliveries {
  readonly #deps: Pick<FacilitatorDeps, 'ledger' | 'warn'>;
  readonly #pending = new Set<Promise<void>>();

  constructor(deps: Pick<FacilitatorDeps, 'ledger' | 'warn'>) {
    this.#deps = deps;
  }

  /** Records the delivery when the response ends. Call this method before the response is sent. */
  follow(response: ServerResponse, delivery: Delivery): void {
    const end = wasWritten(response).then((isDelivered) => this.#record(delivery, isDelivered));
    const recording = end.finally(() => this.#pending.delete(recording));
    this.#pending.add(recording);
  }

  /** Resolves when the delivery of every followed response is recorded. */
  async close(): Promise<void> {
    await Promise.all(this.#pending);
  }

  async #record({ id, holder, key }: Delivery, isDelivered: boolean): Promise<void> {
    const { obligations } = this.#deps.ledger;
    // The lease is not released: another delivery to a caller with this key can be in progress.
    if (!isDelivered && key !== null) return;
    const record = isDelivered
      ? () => obligations.markServed(id, 200, null)
      : () => obligations.release(id, holder);
    for (let attempt = 1; ; attempt += 1)
      try {
        await record();
        return;
      } catch (error) {
        if (attempt === 1 || attempt === MAX_TRIES)
          this.#deps.warn(
            error,
            `recording the delivery of payment ${id} failed: try ${attempt} of ${MAX_TRIES}`,
          );
        if (attempt === MAX_TRIES) return;
        await sleep(RETRY_DELAY_MS);
      }
  }
}

/**
 * True if the whole response was passed to the operating system; false if the connection closed earlier. Does not use
 * `finished` of node:stream, which treats a response without a socket as written.
 */
async function wasWritten(response: ServerResponse): Promise<boolean> {
  if (response.destroyed) return false;
  return new Promise((resolve) => {
    response.once('finish', () => resolve(true));
    response.once('close', () => resolve(false));
  });
}
