import type { Alert, Bodies, ClosedAlert, ClosedAlerts } from './api.ts';
import { ListCalls } from './calls.ts';
import type { CallOptions } from './waiting.ts';

export class AlertCalls extends ListCalls<'listAlerts', 'alerts', Alert> {
  protected readonly path = '/v1/alerts';
  protected readonly items = 'alerts';

  /**
   * Closes alerts that do not close by themselves, after an operator investigated them. Returns the closed alerts.
   *
   * @throws SluiceError `InvalidRequest` (400) if one of the alerts closes in another way; then no alert is closed.
   */
  async acknowledge(
    positions: readonly string[],
    reason: string,
    options?: CallOptions,
  ): Promise<readonly Alert[]> {
    const body = { seen: positions, reason };
    return (await this.send<ClosedAlerts>('POST', '/v1/alerts/seen', body, options)).alerts;
  }

  /** Closes an alert that stops a settlement. Sluice can then pay the settlement. False if no such alert was open. */
  async close(
    kind: Bodies['closeAlert']['kind'],
    subject: string,
    reason: string,
    options?: CallOptions,
  ): Promise<boolean> {
    const body = { kind, subject, reason };
    return (await this.send<ClosedAlert>('POST', '/v1/alerts/close', body, options)).closed;
  }
}
