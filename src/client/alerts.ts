import type { CLOSED_BY_ORDER } from '../domain/alerts.ts';
import type { Alert, AlertPage, ClosedAlert, ClosedAlerts } from './api.ts';
import { Calls } from './calls.ts';
import { itemsOf, type PageOptions } from './pages.ts';
import type { CallOptions } from './waiting.ts';

export interface AlertFilter {
  /** True: open alerts only. False: closed alerts only. */
  readonly open?: boolean;
}

export class AlertCalls extends Calls {
  /** All matching alerts, newest first. Fetches pages as they are read. */
  list(filter: AlertFilter = {}, options?: CallOptions): AsyncGenerator<Alert, void, undefined> {
    return itemsOf(
      (cursor) => this.page(filter, { cursor, ...options }),
      ({ alerts }) => alerts,
    );
  }

  /** One page of at most `limit` (1-200) alerts. */
  page(filter: AlertFilter = {}, options?: PageOptions): Promise<AlertPage> {
    return this.readPage('/v1/alerts', { ...filter }, options);
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
    return (await this.send<ClosedAlerts>('POST', '/v1/alerts/seen', body, options)).alerts;
  }

  /** Closes an alert that stops a settlement. Sluice may then pay the settlement. False if no such alert was open. */
  async close(
    kind: (typeof CLOSED_BY_ORDER)[number],
    subject: string,
    reason: string,
    options?: CallOptions,
  ): Promise<boolean> {
    const body = { kind, subject, reason };
    return (await this.send<ClosedAlert>('POST', '/v1/alerts/close', body, options)).closed;
  }
}
