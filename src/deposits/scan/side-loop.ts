import { setTimeout as sleep } from 'node:timers/promises';
import { log } from '@temporalio/activity';
import type { Ledger } from '../../ledger/ledger.ts';
import { haltAfter, isOperational } from './failure-alerts.ts';

/** Messages of unexpected errors, by task name. A task that succeeds removes its entry. */
export type Defects = Map<string, string>;

/**
 * Runs side tasks in parallel to the scan. Their errors neither end nor delay the scan, but a turn waits for their end.
 */
export class SideTasks {
  readonly defects: Defects;
  readonly #ledger: Ledger;
  readonly #pollMs: number;
  readonly #signal: AbortSignal;

  constructor(ledger: Ledger, pollMs: number, defects: Defects, signal: AbortSignal) {
    this.#ledger = ledger;
    this.#pollMs = pollMs;
    this.defects = defects;
    this.#signal = signal;
  }

  /** Repeats the task until the turn ends, except while the scan is paused. */
  async repeat(name: string, work: () => Promise<unknown>): Promise<void> {
    while (!this.#signal.aborted) {
      await this.runUnlessPaused(name, work);
      await pause(this.#pollMs, this.#signal);
    }
  }

  runUnlessPaused(name: string, work: () => Promise<unknown>): Promise<void> {
    return this.run(name, async () => {
      await this.#ledger.scanPauses.assertNone();
      await work();
    });
  }

  /** Runs the task once and never throws. An unexpected error is logged and stored in `defects`. */
  async run(name: string, work: () => Promise<unknown>): Promise<void> {
    try {
      await work();
      // At the end of a turn a task can return before it has done anything, so that its defect must remain.
      if (!this.#signal.aborted) this.defects.delete(name);
    } catch (error) {
      if (isOperational(error)) return;
      if (!this.defects.has(name)) log.error(`${name} failed`, { error });
      this.defects.set(name, haltAfter(error).reason);
    }
  }
}

export async function pause(ms: number, signal: AbortSignal): Promise<void> {
  await sleep(ms, undefined, { signal }).catch(() => undefined);
}

/** Awaits `work`. Until it settles, calls `tick` every `everyMs` with the time since the start. */
export async function tickUntilSettled<T>(
  work: Promise<T>,
  everyMs: number,
  tick: (waitedMs: number) => Promise<void>,
): Promise<T> {
  const settled = new AbortController();
  const ticks = (async () => {
    for (let waitedMs = everyMs; ; waitedMs += everyMs) {
      await pause(everyMs, settled.signal);
      if (settled.signal.aborted) return;
      await tick(waitedMs);
    }
  })();
  try {
    return await work;
  } finally {
    settled.abort();
    await ticks;
  }
}
