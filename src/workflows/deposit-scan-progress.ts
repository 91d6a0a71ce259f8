import { log, ParentClosePolicy, setCurrentDetails, setHandler, startChild } from '@temporalio/workflow';
import { operatorNoteOf } from '../domain/operator-note.ts';
import { type RescanOrder, rescanOrderOf, rescanRun } from '../domain/rescan.ts';
import { type ScanStatus, sinceOf } from '../domain/scan.ts';
import { parseScanStatus } from '../domain/scan-status-parse.ts';
import * as act from './deposit-activity-proxies.ts';
import type { depositRescan } from './deposit-rescan.ts';
import { scanCard } from './details.ts';
import { pauseScan, rescanRange, resumeScan, scanReport, scanStatus } from './messages.ts';

/** What one run of the scan hands to the next. */
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
 * How the scan stands, and the orders that come to its run, which go on record in their order: what reads obeys that. Made first in
 * the run: from then on messages are answered.
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

  /** Since when it stands still, over all workers and runs; null where it goes on. */
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

  /** One that fails for good ends alone: those after it count all the same. */
  #inTurn(order: () => Promise<void>): Promise<void> {
    this.#orders = this.#orders
      .then(order)
      .catch((error: unknown) => log.error('an order of the scan came to nothing', { error }));
    return this.#orders;
  }
}

/** A run of its own, which goes on whatever becomes of this one. Throws where one of the same slots does, or where there is no order. */
async function begin(order: RescanOrder | null): Promise<void> {
  if (order === null) throw new Error('a rescan is {from, to, actor, reason}, with slots as decimal strings');
  const { summary: staticSummary, details: staticDetails, ...run } = rescanRun(order);
  await startChild<typeof depositRescan>('depositRescan', {
    ...run,
    staticSummary,
    staticDetails,
    parentClosePolicy: ParentClosePolicy.ABANDON,
  });
}
