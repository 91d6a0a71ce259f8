import { log, setCurrentDetails, setHandler } from '@temporalio/workflow';
import { type ScanStatus, sinceOf } from '../domain/scan.ts';
import { parseScanStatus } from '../domain/scan-report.ts';
import { wordOf } from '../domain/word.ts';
import * as act from './deposit-activities.ts';
import { scanCard } from './details.ts';
import { pauseScan, resumeScan, scanReport, scanStatus } from './messages.ts';

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
    setHandler(pauseScan, (order) => this.#inTurn(() => act.recordPause(wordOf(order))));
    setHandler(resumeScan, (order) => this.#inTurn(() => act.recordResume(wordOf(order))));
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
      .catch((error: unknown) => log.error('an order of the scan is not on record', { error }));
    return this.#orders;
  }
}
