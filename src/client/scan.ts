import type { Transport } from './transport.ts';

/** Slots as decimal strings, both ends included. */
export interface ScanRange {
  readonly from: string;
  readonly to: string;
}

/** Slots whose blocks no node showed. `filled`: one did after all; `closed`: an operator went on without them. */
export interface ScanGap extends ScanRange {
  readonly state: 'open' | 'filled' | 'closed';
  readonly openedAt: string;
  readonly endedAt: string | null;
  readonly who: string | null;
  readonly why: string | null;
  /** When every address had been audited over it; null before, and for one that was filled. */
  readonly auditedAt: string | null;
}

/** How the scan of blocks stands. Slots and heights are decimal strings, times ISO-8601. */
export interface ScanStatus {
  /** `silent`: no worker answers for it, and the rest is what is on record; `absent`: it has not been started. */
  readonly state:
    | 'starting'
    | 'tail'
    | 'catch-up'
    | 'paused'
    | 'gap'
    | 'waiting'
    | 'stopped'
    | 'silent'
    | 'absent';
  /** The last block that was linked, scanned and committed, from the record; null before the first. */
  readonly cursor: { readonly slot: string; readonly blockhash: string; readonly height: string } | null;
  /** The newest slot that a quorum of nodes has finalized. */
  readonly tip: string | null;
  /** Slots from the cursor to the tip. */
  readonly lag: string | null;
  readonly blocksPerSecond: number | null;
  /** Where it stands still; null where it goes on. */
  readonly gap: ScanRange | null;
  /** One sentence for people where it stands still. */
  readonly why: string | null;
  /** When the worker said so; null where none did. */
  readonly at: string | null;
  /** All gaps on record, newest first. */
  readonly gaps: readonly ScanGap[];
}

/** Calls about the scan of blocks, for operations. Each answers how the scan stood when the order was given. */
export class ScanCalls {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  status(): Promise<ScanStatus> {
    return this.#transport.call({ method: 'GET', path: '/v1/scan' });
  }

  /** No block is read until {@link resume}. @throws SluiceError `ScanAbsent` (409) */
  pause(why: string): Promise<ScanStatus> {
    return this.#order('pause', { why });
  }

  /** @throws SluiceError `ScanAbsent` (409) */
  resume(why: string): Promise<ScanStatus> {
    return this.#order('resume', { why });
  }

  /** Reads committed blocks again: what was missed is added, nothing is taken back. @throws SluiceError `ScanAbsent` (409) */
  rescan(range: ScanRange, why: string): Promise<ScanStatus> {
    return this.#order('rescan', { ...range, why });
  }

  /**
   * Goes on without the blocks of an open gap, and has every address audited over it. Who and why stay on record.
   *
   * @throws SluiceError `NotFound` (404) where exactly this gap is not open.
   */
  closeGap(range: ScanRange, why: string): Promise<ScanStatus> {
    return this.#order('close-gap', { ...range, why });
  }

  #order(order: string, body: Readonly<Record<string, string>>): Promise<ScanStatus> {
    return this.#transport.call({ method: 'POST', path: `/v1/scan/${order}`, body });
  }
}
