import type { AuditDifference, AuditReport } from '../domain/audit.ts';
import type { Backfill } from '../domain/backfill.ts';
import { type PageOptions, pagesOf } from './pages.ts';
import { pathPart, queryOf, type Transport } from './transport.ts';
import { type CallOptions, delay, type PollOptions, untilAnswered } from './waiting.ts';

export type { AuditDifference, AuditReport, Backfill };

/** Slots as decimal strings, both ends inclusive. */
export interface BackfillRequest {
  readonly from: string;
  readonly to: string;
  readonly reason: string;
  /** Wallet whose history is compared with its recorded deposits; without one, the blocks are read for all wallets. */
  readonly address?: string;
  /** With an address: also record missing deposits; otherwise only report them. @default false */
  readonly repair?: boolean;
}

export interface BackfillPage {
  readonly backfills: readonly Backfill[];
  readonly nextCursor: string | null;
}

const PAGE_SIZE = 100;

/** Calls that read committed blocks, or the history of an address, again. Missing deposits are added, none is removed. */
export class BackfillCalls {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /**
   * Starts a backfill, or joins an equal one that is running.
   *
   * @throws SluiceError `NotFound` (404) for an address that is not watched, `SlotsNotRecorded` (409) for slots that
   * are not scanned yet, or below the first stored header.
   */
  start(request: BackfillRequest, options?: CallOptions): Promise<Backfill> {
    return this.#transport.call({ method: 'POST', path: '/v1/backfills', body: request }, options);
  }

  /** @throws SluiceError `NotFound` (404). */
  get(id: string, options?: CallOptions): Promise<Backfill> {
    return this.#transport.call({ method: 'GET', path: `/v1/backfills/${pathPart(id)}` }, options);
  }

  /** {@link start}, then waits for the end, also across API restarts. Only `signal` ends the wait early. */
  async run(request: BackfillRequest, options: PollOptions = {}): Promise<Backfill> {
    const { signal, onSilence, pollMs = 1_000 } = options;
    for (let backfill = await this.start(request, { signal }); ; ) {
      if (backfill.endedAt !== null) return backfill;
      await delay(pollMs, signal);
      const { id } = backfill;
      backfill = await untilAnswered(() => this.get(id, { signal }), { signal, onSilence, pollMs });
    }
  }

  /** All backfills with progress and result, newest first. Fetches pages as they are read. */
  async *list(options?: CallOptions): AsyncGenerator<Backfill, void, undefined> {
    for await (const { backfills } of pagesOf((cursor) => this.page({ cursor, ...options })))
      yield* backfills;
  }

  /** One page of at most `limit` (1-200) backfills. */
  page({ limit = PAGE_SIZE, cursor, signal }: PageOptions = {}): Promise<BackfillPage> {
    return this.#transport.call(
      { method: 'GET', path: `/v1/backfills${queryOf({ limit, cursor })}` },
      { signal },
    );
  }
}
