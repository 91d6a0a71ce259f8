import type { Rescan } from '../domain/rescan.ts';
import type { ScanGap, ScanRange, ScanStatus } from '../domain/scan.ts';
import { type PageOptions, pagesOf } from './pages.ts';
import { queryOf, type Transport } from './transport.ts';
import type { CallOptions } from './waiting.ts';

export type { Rescan } from '../domain/rescan.ts';
export type { ScanGap, ScanRange, ScanStatus } from '../domain/scan.ts';

/** Status of the scan, all recorded gaps (newest first), and unfinished rescans. */
export type ScanOverview = ScanStatus & {
  readonly gaps: readonly ScanGap[];
  readonly rescans: readonly Rescan[];
};

export interface RescanPage {
  readonly rescans: readonly Rescan[];
  readonly nextCursor: string | null;
}

const PAGE_SIZE = 100;

/** Calls about the scan, for operations. Each order returns the scan's status after it. */
export class ScanCalls {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  status(options?: CallOptions): Promise<ScanOverview> {
    return this.#transport.call({ method: 'GET', path: '/v1/scan' }, options);
  }

  /** Stops commits until {@link resume}, even without workers or Temporal. Actor, reason and time are stored. */
  pause(reason: string, options?: CallOptions): Promise<ScanOverview> {
    return this.#order('pause', { reason }, options);
  }

  resume(reason: string, options?: CallOptions): Promise<ScanOverview> {
    return this.#order('resume', { reason }, options);
  }

  /**
   * Reads committed blocks again. Missing deposits are added; no deposit is removed. Returns the new rescan, or the
   * running one of the same slots. {@link rescans} lists the results.
   *
   * @throws SluiceError `SlotsNotRecorded` (409) above the cursor, or below the first stored header.
   */
  rescan(range: ScanRange, reason: string, options?: CallOptions): Promise<Rescan> {
    return this.#transport.call(
      { method: 'POST', path: '/v1/scan/rescan', body: { ...range, reason } },
      options,
    );
  }

  /** All rescans with progress and result, newest first. Fetches pages as they are read. */
  async *rescans(options?: CallOptions): AsyncGenerator<Rescan, void, undefined> {
    const pages = pagesOf((cursor) => this.rescanPage({ cursor, ...options }));
    for await (const { rescans } of pages) yield* rescans;
  }

  /** One page of at most `limit` (1-200) rescans. */
  rescanPage({ limit = PAGE_SIZE, cursor, signal }: PageOptions = {}): Promise<RescanPage> {
    const path = `/v1/scan/rescans${queryOf({ limit, cursor })}`;
    return this.#transport.call({ method: 'GET', path }, { signal });
  }

  /**
   * Skips the blocks of an open gap, and starts an audit of every address over it. Actor and reason are stored.
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
    return this.#transport.call({ method: 'POST', path: `/v1/scan/${order}`, body }, options);
  }
}
