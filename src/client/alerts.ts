import type { AlertKind, CLOSED_BY_ORDER } from '../domain/alerts.ts';
import { type PageOptions, pagesOf } from './pages.ts';
import { queryOf, type Transport } from './transport.ts';
import type { CallOptions } from './waiting.ts';

/** An alert for operators. Times are ISO-8601. */
export interface Alert {
  /** Identifies the alert in {@link AlertCalls.acknowledge} and {@link PauseCalls.end}. */
  readonly position: string;
  readonly kind: AlertKind;
  /** The settlement, signature, wallet, node or webhook that the alert is about, or `sluice`. */
  readonly subject: string;
  readonly message: string;
  /** Path in the repository of the page that says what to do. */
  readonly runbook: string;
  readonly details: Readonly<Record<string, unknown>>;
  readonly raisedAt: string;
  readonly lastSeenAt: string;
  /** How often the cause was seen. */
  readonly count: number;
  /** Null while the alert is open. */
  readonly closedAt: string | null;
}

/** Which alerts a list shows. */
export interface AlertFilter {
  /** Only open alerts, or only closed ones. */
  readonly open?: boolean;
}

/** One page of a list, newest first. */
export interface AlertPage {
  readonly alerts: readonly Alert[];
  /** Pass it as `cursor` for the next page; null on the last one. */
  readonly nextCursor: string | null;
}

const PAGE_SIZE = 100;

/** Calls about alerts, for operations. */
export class AlertCalls {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /** All alerts that match, newest first; pages are fetched as they are read. */
  async *list(filter: AlertFilter = {}, options?: CallOptions): AsyncGenerator<Alert, void, undefined> {
    const pages = pagesOf((cursor) => this.page(filter, { cursor, ...options }));
    for await (const { alerts } of pages) yield* alerts;
  }

  /** One page of the list, of at most `limit` (1-200) alerts. */
  page(
    { open }: AlertFilter = {},
    { limit = PAGE_SIZE, cursor, signal }: PageOptions = {},
  ): Promise<AlertPage> {
    const path = `/v1/alerts${queryOf({ limit, open: open?.toString(), cursor })}`;
    return this.#transport.call({ method: 'GET', path }, { signal });
  }

  /**
   * Closes alerts that an operator has investigated and that nothing else ends. Returns the alerts that it closed.
   *
   * @throws SluiceError `InvalidRequest` (400) if one of them ends otherwise; then none is closed.
   */
  async acknowledge(
    positions: readonly string[],
    reason: string,
    options?: CallOptions,
  ): Promise<readonly Alert[]> {
    const body = { seen: positions, reason };
    const { alerts } = await this.#transport.call<{ readonly alerts: readonly Alert[] }>(
      { method: 'POST', path: '/v1/alerts/seen', body },
      options,
    );
    return alerts;
  }

  /** Closes an alert that stops a settlement; Sluice may then pay the settlement. False if no such alert was open. */
  async close(
    kind: (typeof CLOSED_BY_ORDER)[number],
    subject: string,
    reason: string,
    options?: CallOptions,
  ): Promise<boolean> {
    const { closed } = await this.#transport.call<{ readonly closed: boolean }>(
      { method: 'POST', path: '/v1/alerts/close', body: { kind, subject, reason } },
      options,
    );
    return closed;
  }
}
