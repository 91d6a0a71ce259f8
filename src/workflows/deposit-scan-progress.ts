import { log, ParentClosePolicy, setCurrentDetails, setHandler, startChild } from '@temporalio/workflow';
import { backfillRun, type RescanOrder, rescanOrderOf } from '../domain/backfill.ts';
import { operatorNoteOf } from '../domain/operator-note.ts';
import { type ScanStatus, sinceOf } from '../domain/scan.ts';
import { parseScanStatus } from '../domain/scan-status-parse.ts';
import type { backfill } from './backfill.ts';
import * as act from './deposit-activity-proxies.ts';
import { scanCard } from './details.ts';
import { pauseScan, rescanRange, resumeScan, scanReport, scanStatus } from './messages.ts';

export interface DepositScanInput {
  readonly status?: ScanStatus;
}

const UNKNOWN: ScanStatus = {
  state: 'starting',
  cursor: null,
  tip: null,
  lag: null,
  blocksPerSecond: null,
  at: null,
};

/**
 * The scan's status and its orders, which are stored in sequence; activities obey the database. Construct it
 * first in a run, so that messages are answered.
 */
export class DepositScanProgress {
  #status: ScanStatus;
  #orders: Promise<void> = Promise.resolve();

  constructor({ status = UNKNOWN }: DepositScanInput) {
    this.#status = status;
    this.note(status);
    setHandler(scanStatus, () => this.#status);
    setHandler(scanReport, (report) => {
      const status = parseScanStatus(report);
      if (status !== null) this.note(status);
    });
    setHandler(pauseScan, (order) => this.#inTurn(() => act.recordPause(operatorNoteOf(order))));
    setHandler(resumeScan, (order) => this.#inTurn(() => act.recordResume(operatorNoteOf(order))));
    setHandler(rescanRange, (given) => this.#inTurn(() => begin(rescanOrderOf(given))));
  }

  /** When the scan stopped, over all workers and runs; null while it runs. */
  get since(): string | null {
    return sinceOf(this.#status);
  }

  note(status: ScanStatus): void {
    this.#status = status;
    setCurrentDetails(scanCard(status));
  }

  next(): DepositScanInput {
    return { status: this.#status };
  }

  /** A permanent failure of one order does not affect later ones. */
  #inTurn(order: () => Promise<void>): Promise<void> {
    this.#orders = this.#orders
      .then(order)
      .catch((error: unknown) => log.error('an order of the scan came to nothing', { error }));
    return this.#orders;
  }
}

/** Starts the rescan as an independent run. Throws if the order is invalid or a rescan of the same slots runs. */
async function begin(order: RescanOrder | null): Promise<void> {
  if (order === null) throw new Error('a rescan is {from, to, actor, reason}, with slots as decimal strings');
  const { summary: staticSummary, details: staticDetails, ...run } = backfillRun(order);
  await startChild<typeof backfill>('backfill', {
    ...run,
    staticSummary,
    staticDetails,
    parentClosePolicy: ParentClosePolicy.ABANDON,
  });
}
