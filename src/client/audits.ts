import type { AuditDifference, AuditReport } from '../domain/audit.ts';
import { queryOf, type Transport } from './transport.ts';
import { type CallOptions, delay, type PollOptions, untilAnswered } from './waiting.ts';

export type { AuditDifference, AuditReport };

/** The audit of one address over these slots: decimal strings, both ends inclusive. */
export interface AuditQuestion {
  readonly address: string;
  readonly from: string;
  readonly to: string;
  /** Also write missing deposits to the database; otherwise only report them. @default false */
  readonly repair?: boolean;
}

export interface Audit extends Required<AuditQuestion> {
  readonly state: 'running' | 'done' | 'failed';
  /** Result; null while the audit runs and after a failure. */
  readonly report: AuditReport | null;
  /** The error of a failed audit, for display; otherwise null. */
  readonly reason: string | null;
}

/** Calls that compare an address's transactions, as nodes list them, with the recorded deposits. */
export class AuditCalls {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /**
   * Starts an audit, or joins an equal one that is running.
   *
   * @throws SluiceError `NotFound` (404) for an address that is not ours, `SlotsNotRecorded` (409) for slots not
   * scanned yet.
   */
  start(question: AuditQuestion, options?: CallOptions): Promise<Audit> {
    return this.#transport.call({ method: 'POST', path: '/v1/audits', body: question }, options);
  }

  /** @throws SluiceError `NotFound` (404) if it was never started, or if Temporal no longer retains its run. */
  get({ repair = false, ...question }: AuditQuestion, options?: CallOptions): Promise<Audit> {
    const path = `/v1/audits${queryOf({ ...question, repair: String(repair) })}`;
    return this.#transport.call({ method: 'GET', path }, options);
  }

  /** {@link start}, then waits for the result, also across API restarts. Only `signal` ends the wait early. */
  async run(question: AuditQuestion, options: PollOptions = {}): Promise<Audit> {
    const { signal, onSilence, pollMs = 1_000 } = options;
    for (let audit = await this.start(question, { signal }); ; ) {
      if (audit.state !== 'running') return audit;
      await delay(pollMs, signal);
      audit = await untilAnswered(() => this.get(question, { signal }), { signal, onSilence, pollMs });
    }
  }
}
