import type { AuditDifference, AuditReport } from '../domain/audit.ts';
import { queryOf, type Transport } from './transport.ts';
import { type CallOptions, delay, type PollOptions, untilAnswered } from './waiting.ts';

export type { AuditDifference, AuditReport };

/** What to hold against the record: all that came to one address in these slots, decimal strings, both ends included. */
export interface AuditQuestion {
  readonly address: string;
  readonly from: string;
  readonly to: string;
  /** Put on record what is missing there; else it is only told. @default false */
  readonly repair?: boolean;
}

/** An audit that was asked for: how the newest run of it stands. */
export interface Audit extends Required<AuditQuestion> {
  readonly state: 'running' | 'done' | 'failed';
  /** Result; null while the audit runs and after a failure. */
  readonly report: AuditReport | null;
  /** One sentence for people where it failed. */
  readonly reason: string | null;
}

/** Calls that look again at what came to an address, past the blocks: through what nodes list for it. */
export class AuditCalls {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /**
   * Starts an audit, or joins the same one that runs.
   *
   * @throws SluiceError `NotFound` (404) for an address that is not ours, `SlotsNotRecorded` (409) for slots that are not scanned yet.
   */
  start(question: AuditQuestion, options?: CallOptions): Promise<Audit> {
    return this.#transport.call({ method: 'POST', path: '/v1/audits', body: question }, options);
  }

  /** @throws SluiceError `NotFound` (404) where nobody asked for it, or so long ago that its run is forgotten. */
  get({ repair = false, ...question }: AuditQuestion, options?: CallOptions): Promise<Audit> {
    const path = `/v1/audits${queryOf({ ...question, repair: String(repair) })}`;
    return this.#transport.call({ method: 'GET', path }, options);
  }

  /** {@link start}, and waits for its end, however long that takes and across restarts of the API; only `signal` ends the wait early. */
  async run(question: AuditQuestion, options: PollOptions = {}): Promise<Audit> {
    const { signal, onSilence, pollMs = 1_000 } = options;
    for (let audit = await this.start(question, { signal }); ; ) {
      if (audit.state !== 'running') return audit;
      await delay(pollMs, signal);
      audit = await untilAnswered(() => this.get(question, { signal }), { signal, onSilence, pollMs });
    }
  }
}
