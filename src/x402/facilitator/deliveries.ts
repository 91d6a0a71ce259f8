import type { ServerResponse } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import type { FacilitatorDeps } from './facilitator.ts';

interface Delivery {
  readonly id: string;
  readonly holder: string;
  readonly key: string | null;
}

const TRIES = 20;
const RETRY_MS = 1_000;

/**
 * Successes in delivery. Each is leased to its caller by a claim, and ends in one of three states:
 *
 * | the response | the payment | the lease |
 * |---|---|---|
 * | was handed over whole | becomes `served` | ends |
 * | was cut off, and the caller has no key | stays `owed` | is given back: the next caller claims the success |
 * | was cut off, and the caller has a key | stays `owed` | runs out, but never holds off the same key |
 */
export class SuccessDeliveries {
  readonly #deps: Pick<FacilitatorDeps, 'ledger' | 'warn'>;
  readonly #open = new Set<Promise<void>>();

  constructor(deps: Pick<FacilitatorDeps, 'ledger' | 'warn'>) {
    this.#deps = deps;
  }

  /** Call it before the response is sent. */
  follow(response: ServerResponse, delivery: Delivery): void {
    const end = outcomeOf(response).then((isDelivered) => this.#record(delivery, isDelivered));
    const open = end.finally(() => this.#open.delete(open));
    this.#open.add(open);
  }

  /** Resolves when every sent response is recorded. */
  async close(): Promise<void> {
    await Promise.all(this.#open);
  }

  async #record({ id, holder, key }: Delivery, isDelivered: boolean): Promise<void> {
    const { obligations } = this.#deps.ledger;
    // A caller with a key may have another delivery in progress.
    if (!isDelivered && key !== null) return;
    const record = isDelivered
      ? () => obligations.markServed(id, 200, null)
      : () => obligations.release(id, holder);
    for (let attempt = 1; ; attempt += 1)
      try {
        await record();
        return;
      } catch (error) {
        if (attempt === 1 || attempt === TRIES)
          this.#deps.warn(error, `the delivery of payment ${id} is not recorded after ${attempt} tries`);
        if (attempt === TRIES) return;
        await sleep(RETRY_MS);
      }
  }
}

/**
 * True if the whole response was handed to the operating system, false if the connection closed before. `finished` of
 * node:stream cannot distinguish them: it treats a response without a socket as written.
 */
async function outcomeOf(response: ServerResponse): Promise<boolean> {
  if (response.destroyed) return false;
  return new Promise((resolve) => {
    response.once('finish', () => resolve(true));
    response.once('close', () => resolve(false));
  });
}
