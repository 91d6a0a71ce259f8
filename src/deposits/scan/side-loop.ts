import { setTimeout as sleep } from 'node:timers/promises';
import { log } from '@temporalio/activity';
import type { Ledger } from '../../ledger/ledger.ts';
import { haltAfter, isOperational } from './failure-alerts.ts';

interface BesideDeps {
  readonly ledger: Ledger;
  /** Time between two looks. Default 400. */
  readonly pollMs?: number;
}

/** The defect by which each step fails, by the step's name; a step that succeeds leaves the map. */
export type Defects = Map<string, string>;

/** Time between two looks for a new block, in ms. */
export const POLL_MS = 400;

/**
 * What is done beside the scan: nothing of it ends the scan, nor holds it up; at the end of a turn the scan stands still until all of it
 * has ended, too.
 */
export class BesideScan {
  readonly defects: Defects;
  readonly #deps: BesideDeps;
  readonly #end: AbortSignal;

  constructor(deps: BesideDeps, defects: Defects, end: AbortSignal) {
    this.#deps = deps;
    this.defects = defects;
    this.#end = end;
  }

  /** Does this again and again, unless the scan is paused. */
  async keepLooking(
    name: string,
    work: () => Promise<unknown>,
    everyMs = this.#deps.pollMs ?? POLL_MS,
  ): Promise<void> {
    while (!this.#end.aborted) {
      await this.look(name, work);
      await rest(everyMs, this.#end);
    }
  }

  /** Does this unless the scan is paused. */
  look(name: string, work: () => Promise<unknown>): Promise<void> {
    return this.attend(name, async () => {
      await this.#deps.ledger.scanPauses.assertNone();
      await work();
    });
  }

  /** Does this; where it fails it is left to the next time. */
  async attend(name: string, work: () => Promise<unknown>): Promise<void> {
    try {
      await work();
      // At the end of a turn a step may return before it has done anything.
      if (!this.#end.aborted) this.defects.delete(name);
    } catch (error) {
      if (isOperational(error)) return;
      if (!this.defects.has(name)) log.error(`${name} failed`, { error });
      this.defects.set(name, haltAfter(error).reason);
    }
  }
}

/** Waits, until `end` at most. */
export async function rest(ms: number, end: AbortSignal): Promise<void> {
  await sleep(ms, undefined, { signal: end }).catch(() => undefined);
}
