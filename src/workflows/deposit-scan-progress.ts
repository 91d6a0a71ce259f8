import { CancellationScope, condition, isCancellation, setHandler } from '@temporalio/workflow';
import type { ScanView } from '../domain/scan.ts';
import { pauseScan, resumeScan, scanReport, scanStatus } from './messages.ts';

/** What one run of the scan hands to the next. */
export interface DepositScanInput {
  readonly paused?: boolean;
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
  since: null,
  at: '',
};

/** How the scan stands, and what people want of it. Made first in the run: from then on messages are answered. */
export class DepositScanProgress {
  #view: ScanView;
  #paused: boolean;
  #reading: CancellationScope | null = null;

  constructor({ paused = false, view = UNKNOWN }: DepositScanInput) {
    this.#paused = paused;
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
  }

  /** Since when it stands still, over all workers and runs; null where it goes on. */
  get since(): ScanView['since'] {
    return this.#view.since;
  }

  note(view: ScanView): void {
    this.#view = view;
  }

  /** Resolves where the scan is not paused. */
  async resumed(): Promise<void> {
    await condition(() => !this.#paused);
  }

  /** Runs what reads on; a pause ends it early, and it may commit what it has begun. */
  async unlessPaused(read: () => Promise<void>): Promise<void> {
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
    return { paused: this.#paused, view: this.#view };
  }
}
