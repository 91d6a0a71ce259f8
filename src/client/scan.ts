import type { Rescan } from '../domain/rescan.ts';
import type { ScanGap, ScanRange, ScanStatus } from '../domain/scan.ts';
import { type PageOptions, pagesOf } from './pages.ts';
import { queryOf, type Transport } from './transport.ts';
import type { CallOptions } from './waiting.ts';

export type { Rescan } from '../domain/rescan.ts';
export type { ScanGap, ScanRange, ScanStatus } from '../domain/scan.ts';

/** How the scan of blocks stands, all gaps on record, newest first, and the rescans that have not ended. */
export type ScanOverview = ScanStatus & {
  readonly gaps: readonly ScanGap[];
  readonly rescans: readonly Rescan[];
};

/** {@link ScanCalls.rescanPage}. */
export interface RescanPage {
  readonly rescans: readonly Rescan[];
  readonly nextCursor: string | null;
}

const PAGE_SIZE = 100;

/** Calls about the scan of blocks, for operations. An order to the scan answers how it stands after it. */
export class ScanCalls {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  status(options?: CallOptions): Promise<ScanOverview> {
    return this.#transport.call({ method: 'GET', path: '/v1/scan' }, options);
  }

  /** No block is committed until {@link resume}, also where no worker or no Temporal answers. Who, why and since when stay on record. */
  pause(reason: string, options?: CallOptions): Promise<ScanOverview> {
    return this.#order('pause', { reason }, options);
  }

  /** Ends the pause, where there is one. */
  resume(reason: string, options?: CallOptions): Promise<ScanOverview> {
    return this.#order('resume', { reason }, options);
  }

  /**
   * Reads committed blocks again. Missing deposits are added; no deposit is removed. Returns the new rescan, or the running one of the same
   * slots. {@link rescans} lists the results.
   *
   * @throws SluiceError `SlotsNotRecorded` (409) above the cursor, or below the first header on record
   */
  rescan(range: ScanRange, reason: string, options?: CallOptions): Promise<Rescan> {
    return this.#transport.call(
      { method: 'POST', path: '/v1/scan/rescan', body: { ...range, reason } },
      options,
    );
  }

  /** Every rescan, newest first: how far it is, and what it came to; pages are fetched as they are read. */
  async *rescans(options?: CallOptions): AsyncGenerator<Rescan, void, undefined> {
    const pages = pagesOf((cursor) => this.rescanPage({ cursor, ...options }));
    for await (const { rescans } of pages) yield* rescans;
  }

  /** One page of that list, of at most `limit` (1-200) rescans. */
  rescanPage({ limit = PAGE_SIZE, cursor, signal }: PageOptions = {}): Promise<RescanPage> {
    const path = `/v1/scan/rescans${queryOf({ limit, cursor })}`;
    return this.#transport.call({ method: 'GET', path }, { signal });
  }

  /**
   * Goes on without the blocks of an open gap, and has every address audited over it. Who and why stay on record.
   *
   * @throws SluiceError `NotFound` (404) where exactly this gap is not open.
   */
  closeGap(range: ScanRange, reason: string, options?: CallOptions): Promise<ScanOverview> {
    return this.#order('close-gap', { ...range, reason }, options);
  }

  #order(
    order: string,
    body: Readonly<Record<string, string>>,
    options?: CallOptions,
  ): Promise<ScanOverview> {
    return this.#transport.call({ method: 'POST', path: `/v1/scan/${order}`, body }, options);
  }
}
