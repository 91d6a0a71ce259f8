import type { CLOSED_BY_ORDER } from '../domain/alerts.ts';
import type { Alert, AlertPage } from './api.ts';
import { type PageOptions, pagesOf } from './pages.ts';
import { queryOf, type Transport } from './transport.ts';
import type { CallOptions } from './waiting.ts';

export interface AlertFilter {
  /** True: open alerts only. False: closed alerts only. */
  readonly open?: boolean;
}

const PAGE_SIZE = 100;

export class AlertCalls {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /** All matching alerts, newest first. Fetches pages as they are read. */
  async *list(filter: AlertFilter = {}, options?: CallOptions): AsyncGenerator<Alert, void, undefined> {
    const pages = pagesOf((cursor) => this.page(filter, { cursor, ...options }));
    for await (const { alerts } of pages) yield* alerts;
  }

  /** One page of at most `limit` (1-200) alerts. */
  page(
    { open }: AlertFilter = {},
    { limit = PAGE_SIZE, cursor, signal }: PageOptions = {},
  ): Promise<AlertPage> {
    const path = `/v1/alerts${queryOf({ limit, open: open?.toString(), cursor })}`;
    return this.#transport.call({ method: 'GET', path }, { signal });
  }

  /**
   * Closes alerts that do not close by themselves, after an operator investigated them. Returns the closed alerts.
   *
   * @throws SluiceError `InvalidRequest` (400) if one of them closes in another way; then none is closed.
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

  /** Closes an alert that stops a settlement. Sluice may then pay the settlement. False if no such alert was open. */
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
