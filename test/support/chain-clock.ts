import { setTimeout as sleep } from 'node:timers/promises';
import { rpc } from '../../devkit/localstack/rpc.ts';

/** Makes the slots of a chain without automatic slots: while it is paused no blockhash ages. */
export class ChainClock {
  readonly #url: string;
  readonly #slotMs: number;
  #running: Promise<void> | null = null;
  #paused = true;

  constructor(url: string, slotMs: number) {
    this.#url = url;
    this.#slotMs = slotMs;
  }

  run(): void {
    this.#paused = false;
    this.#running ??= this.#tick();
    // Thrown by `pause`.
    this.#running.catch(() => undefined);
  }

  /** Resolves when the last slot is made; rejects where the chain refuses a slot. */
  async pause(): Promise<void> {
    this.#paused = true;
    await this.#running;
    this.#running = null;
  }

  async #tick(): Promise<void> {
    while (!this.#paused) {
      await rpc(this.#url, 'localnet_produceSlot', []);
      await sleep(this.#slotMs);
    }
  }
}
