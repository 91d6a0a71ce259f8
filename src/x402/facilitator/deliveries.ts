import type { ServerResponse } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import type { FacilitatorDeps } from './deps.ts';

interface Delivery {
  readonly id: string;
  readonly holder: string;
  readonly key: string | null;
}

const TRIES = 20;
const RETRY_MS = 1_000;

/** Successes on their way to callers: each is recorded as delivered, or given back where its connection was cut off. */
export class Deliveries {
  readonly #deps: Pick<FacilitatorDeps, 'ledger' | 'warn'>;
  readonly #open = new Set<Promise<void>>();

  constructor(deps: Pick<FacilitatorDeps, 'ledger' | 'warn'>) {
    this.#deps = deps;
  }

  /** Call it before the answer is sent. */
  follow(response: ServerResponse, delivery: Delivery): void {
    const end = outcomeOf(response).then((isDelivered) => this.#record(delivery, isDelivered));
    const open = end.finally(() => this.#open.delete(open));
    this.#open.add(open);
  }

  /** Resolves when every answer that was sent is on record. */
  async close(): Promise<void> {
    await Promise.all(this.#open);
  }

  async #record({ id, holder, key }: Delivery, isDelivered: boolean): Promise<void> {
    const { obligations } = this.#deps.ledger;
    // A caller with a key claims it again at once, and another delivery to that caller may be in progress: other callers wait for the lease.
    if (!isDelivered && key !== null) return;
    const record = isDelivered
      ? () => obligations.served(id, 200, null)
      : () => obligations.giveBack(id, holder);
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
 * True where the whole answer was given to the operating system, false where the connection was closed before. `finished` of node:stream
 * does not tell them apart: an answer without a socket counts as written there.
 */
async function outcomeOf(response: ServerResponse): Promise<boolean> {
  if (response.destroyed) return false;
  return new Promise((resolve) => {
    response.once('finish', () => resolve(true));
    response.once('close', () => resolve(false));
  });
}
