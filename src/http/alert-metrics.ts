import type { Alerts } from '../ledger/alerts.ts';
import type { Metrics } from '../platform/metrics.ts';

const EVERY_MS = 15_000;

/** Sets `sluice_alerts_open{kind}` for every kind, 0 included. */
export async function showOpenAlerts(alerts: Pick<Alerts, 'openByKind'>, metrics: Metrics): Promise<void> {
  for (const [kind, open] of await alerts.openByKind())
    metrics.set('sluice_alerts_open', 'Open alerts by kind.', open, { kind });
}

/** {@link showOpenAlerts} now and on a rhythm; while PostgreSQL is away the gauges stay as they were. Call the answer to stop. */
export function meterAlerts(alerts: Pick<Alerts, 'openByKind'>, metrics: Metrics): () => void {
  const show = () => void showOpenAlerts(alerts, metrics).catch(() => undefined);
  show();
  const rhythm = setInterval(show, EVERY_MS);
  return () => clearInterval(rhythm);
}
