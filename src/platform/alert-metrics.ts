import { Gauge, type Registry } from 'prom-client';
import type { AlertKind } from '../domain/alerts.ts';

/** Gauge `sluice_alerts_open{kind}`. The returned function updates it for each kind of `openByKind`. */
export function meterAlerts(
  registry: Registry,
  openByKind: () => Promise<ReadonlyMap<AlertKind, number>>,
): () => Promise<void> {
  const gauge = new Gauge({
    name: 'sluice_alerts_open',
    help: 'Open alerts by kind.',
    labelNames: ['kind'],
    registers: [registry],
  });
  return async () => {
    for (const [kind, open] of await openByKind()) gauge.set({ kind }, open);
  };
}
