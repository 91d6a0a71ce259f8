import type { Backfill, BackfillRequest } from './api.ts';
import { ListCalls } from './calls.ts';
import { pathPart } from './transport.ts';
import { type CallOptions, delay, type PollOptions, untilAnswered } from './waiting.ts';

/** Reads committed blocks, or the history of an address, again. Missing deposits are added; no deposit is removed. */
export class BackfillCalls extends ListCalls<'listBackfills', 'backfills', Backfill> {
  protected readonly path = '/v1/backfills';
  protected readonly items = 'backfills';

  /**
   * Starts a backfill, or returns the same backfill if it is already running.
   *
   * @throws SluiceError `NotFound` (404) for an address that is not watched, `SlotsNotRecorded` (409) for slots that
   * are not scanned yet, or below the first stored header.
   */
  start(request: BackfillRequest, options?: CallOptions): Promise<Backfill> {
    return this.send('POST', this.path, request, options);
  }

  /** @throws SluiceError `NotFound` (404). */
  async get(id: string, options?: CallOptions): Promise<Backfill> {
    return this.read(`${this.path}/${pathPart(id)}`, options);
  }

  /** Starts a backfill and waits until it has ended, also across API restarts. Only `signal` ends the wait early. */
  async run(request: BackfillRequest, options: PollOptions = {}): Promise<Backfill> {
    const { signal, onSilence, pollMs = 1_000 } = options;
    for (let backfill = await this.start(request, { signal }); ; ) {
      if (backfill.endedAt !== null) return backfill;
      await delay(pollMs, signal);
      const { id } = backfill;
      backfill = await untilAnswered(() => this.get(id, { signal }), { signal, onSilence, pollMs });
    }
  }
}
