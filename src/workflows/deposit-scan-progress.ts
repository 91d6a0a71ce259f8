import { CancellationScope, condition, isCancellation, setHandler } from '@temporalio/workflow';
import type { RescanOrder, ScanView } from '../domain/scan.ts';
import { pauseScan, rescanRange, resumeScan, scanReport, scanStatus } from './messages.ts';

/** What one run of the scan hands to the next. */
export interface DepositScanInput {
  readonly paused?: boolean;
  readonly rescans?: readonly RescanOrder[];
  readonly view?: ScanView;
}

const UNKNOWN: ScanView = {
  state: 'starting',
  cursor: null,
  tip: null,
  lag: null,
  blocksPerSecond: null,
  gap: null,
  why: null,
  at: '',
};

/** How the scan stands, and what people want of it. Made first in the run: from then on messages are answered. */
export class DepositScanProgress {
  #view: ScanView;
  #paused: boolean;
  #rescans: readonly RescanOrder[];
  #reading: CancellationScope | null = null;

  constructor({ paused = false, rescans = [], view = UNKNOWN }: DepositScanInput) {
    this.#paused = paused;
    this.#rescans = rescans;
    this.#view = view;
    setHandler(scanStatus, () => (this.#paused ? { ...this.#view, state: 'paused' } : this.#view));
    setHandler(scanReport, (report) => this.note(report));
    setHandler(pauseScan, () => {
      this.#paused = true;
      this.#reading?.cancel();
    });
    setHandler(resumeScan, () => {
      this.#paused = false;
    });
    setHandler(rescanRange, (order) => {
      this.#rescans = [...this.#rescans, order];
      this.#reading?.cancel();
    });
  }

  note(view: ScanView): void {
    this.#view = view;
  }

  /** Resolves where the scan is not paused. */
  async resumed(): Promise<void> {
    await condition(() => !this.#paused);
  }

  /** The oldest order to read blocks again, taken off the list. */
  takeRescan(): RescanOrder | undefined {
    const [order, ...others] = this.#rescans;
    this.#rescans = others;
    return order;
  }

  /** Runs what reads on; a pause or an order ends it early, and it may commit what it has begun. */
  async unlessCalled(read: () => Promise<void>): Promise<void> {
    const scope = new CancellationScope();
    this.#reading = scope;
    try {
      await scope.run(read);
    } catch (error) {
      if (!isCancellation(error) || !scope.consideredCancelled) throw error;
    } finally {
      this.#reading = null;
    }
  }

  next(): DepositScanInput {
    return { paused: this.#paused, rescans: this.#rescans, view: this.#view };
  }
}
