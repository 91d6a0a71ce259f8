import type { OpenRescan, ScanGap, ScanRange, ScanStatus } from '../domain/scan.ts';
import type { Transport } from './transport.ts';
import type { CallOptions } from './waiting.ts';

export type { ScanGap, ScanRange, ScanStatus } from '../domain/scan.ts';

/** How the scan of blocks stands, all gaps on record, newest first, and the rescans that have not ended. */
export type ScanOverview = ScanStatus & {
  readonly gaps: readonly ScanGap[];
  readonly rescans: readonly OpenRescan[];
};

/** Calls about the scan of blocks, for operations. Each answers how the scan stands after it. */
export class ScanCalls {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  status(options?: CallOptions): Promise<ScanOverview> {
    return this.#transport.call({ method: 'GET', path: '/v1/scan' }, options);
  }

  /** No block is committed until {@link resume}, also where no worker or no Temporal answers. Who, why and since when stay on record. */
  pause(why: string, options?: CallOptions): Promise<ScanOverview> {
    return this.#order('pause', { why }, options);
  }

  /** Ends the pause, where there is one. */
  resume(why: string, options?: CallOptions): Promise<ScanOverview> {
    return this.#order('resume', { why }, options);
  }

  /** Reads committed blocks again: what was missed is added, nothing is taken back. @throws SluiceError `InvalidRequest` (400) */
  rescan(range: ScanRange, why: string, options?: CallOptions): Promise<ScanOverview> {
    return this.#order('rescan', { ...range, why }, options);
  }

  /**
   * Goes on without the blocks of an open gap, and has every address audited over it. Who and why stay on record.
   *
   * @throws SluiceError `NotFound` (404) where exactly this gap is not open.
   */
  closeGap(range: ScanRange, why: string, options?: CallOptions): Promise<ScanOverview> {
    return this.#order('close-gap', { ...range, why }, options);
  }

  #order(
    order: string,
    body: Readonly<Record<string, string>>,
    options?: CallOptions,
  ): Promise<ScanOverview> {
    return this.#transport.call({ method: 'POST', path: `/v1/scan/${order}`, body }, options);
  }
}
