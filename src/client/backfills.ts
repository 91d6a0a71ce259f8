import type { Backfill, BackfillPage, BackfillRequest } from './api.ts';
import { Calls } from './calls.ts';
import { itemsOf, type PageOptions } from './pages.ts';
import { pathPart } from './transport.ts';
import { type CallOptions, delay, type PollOptions, untilAnswered } from './waiting.ts';

const ROOT = '/v1/backfills';

/** Calls that read committed blocks, or the history of an address, again. Missing deposits are added, none is removed. */
export class BackfillCalls extends Calls {
  /**
   * Starts a backfill, or joins an equal one that is running.
   *
   * @throws SluiceError `NotFound` (404) for an address that is not watched, `SlotsNotRecorded` (409) for slots that
   * are not scanned yet, or below the first stored header.
   */
  start(request: BackfillRequest, options?: CallOptions): Promise<Backfill> {
    return this.send('POST', ROOT, request, options);
  }

  /** @throws SluiceError `NotFound` (404). */
  async get(id: string, options?: CallOptions): Promise<Backfill> {
    return this.read(`${ROOT}/${pathPart(id)}`, options);
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
  list(options?: CallOptions): AsyncGenerator<Backfill, void, undefined> {
    return itemsOf(
      (cursor) => this.page({ cursor, ...options }),
      ({ backfills }) => backfills,
    );
  }

  /** One page of at most `limit` (1-200) backfills. */
  page(options?: PageOptions): Promise<BackfillPage> {
    return this.readPage(ROOT, {}, options);
  }
}
