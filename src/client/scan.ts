import type { ScanRange } from '../domain/scan.ts';
import type { Scan } from './api.ts';
import { Calls } from './calls.ts';
import type { CallOptions } from './waiting.ts';

export type { ScanGap, ScanRange, ScanStatus } from '../domain/scan.ts';

/** Status of the scan, all recorded gaps (newest first), and unfinished backfills. */
export type ScanOverview = Scan;

/** Calls about the scan, for operations. Each order returns the scan's status after it. */
export class ScanCalls extends Calls {
  status(options?: CallOptions): Promise<ScanOverview> {
    return this.read('/v1/scan', options);
  }

  /** Stops commits until {@link resume}, even without workers or Temporal. Actor, reason and time are stored. */
  pause(reason: string, options?: CallOptions): Promise<ScanOverview> {
    return this.#order('pause', { reason }, options);
  }

  resume(reason: string, options?: CallOptions): Promise<ScanOverview> {
    return this.#order('resume', { reason }, options);
  }

  /**
   * Skips the blocks of an open gap; they are read once a quorum of nodes returns them. Actor and reason are stored.
   *
   * @throws SluiceError `NotFound` (404) unless exactly this gap is open.
   */
  closeGap(range: ScanRange, reason: string, options?: CallOptions): Promise<ScanOverview> {
    return this.#order('close-gap', { ...range, reason }, options);
  }

  #order(
    order: string,
    body: Readonly<Record<string, string>>,
    options?: CallOptions,
  ): Promise<ScanOverview> {
    return this.send('POST', `/v1/scan/${order}`, body, options);
  }
}
