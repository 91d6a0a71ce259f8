import type { ScanRange } from '../domain/scan.ts';
import type { Scan } from './api.ts';
import { Calls } from './calls.ts';
import type { CallOptions } from './waiting.ts';

export type { ScanGap, ScanRange, ScanStatus } from '../domain/scan.ts';

/** Status of the scan, with at most 100 gaps (newest first) and at most 100 unfinished backfills. */
export type ScanOverview = Scan;

/** Operator commands for the scan. Each one returns the resulting status of the scan. */
export class ScanCalls extends Calls {
  status(options?: CallOptions): Promise<ScanOverview> {
    return this.read('/v1/scan', options);
  }

  /** Stops the commits of the scan until {@link resume}. Works even without workers or Temporal. */
  pause(reason: string, options?: CallOptions): Promise<ScanOverview> {
    return this.#command('pause', { reason }, options);
  }

  resume(reason: string, options?: CallOptions): Promise<ScanOverview> {
    return this.#command('resume', { reason }, options);
  }

  /**
   * Skips the blocks of an open gap; they are read later, as soon as a quorum of nodes returns them. Actor and reason
   * are stored.
   *
   * @throws SluiceError `NotFound` (404) unless exactly this gap is open.
   */
  closeGap(range: ScanRange, reason: string, options?: CallOptions): Promise<ScanOverview> {
    return this.#command('close-gap', { ...range, reason }, options);
  }

  #command(
    command: string,
    body: Readonly<Record<string, string>>,
    options?: CallOptions,
  ): Promise<ScanOverview> {
    return this.send('POST', `/v1/scan/${command}`, body, options);
  }
}
