import { createServer, type Server } from 'node:http';
import { collectDefaultMetrics, Gauge, Registry } from 'prom-client';
import type { AlertKind } from '../domain/alerts.ts';
import type { ScanPosition } from '../domain/scan.ts';
import { type SettlementCount, UNFINISHED } from '../domain/settlement.ts';
import { WITHDRAWAL } from '../domain/settlement-kinds.ts';

/**
 * Registry for a process without Temporal workers, with the default Node.js metrics. Workers use the SDK's own
 * endpoint.
 */
export function createRegistry(): Registry {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry });
  return registry;
}

/** Serves `GET /metrics` on `address` (`host:port`), separate from the public API. */
export async function serveMetrics(registry: Registry, address: string): Promise<Server> {
  const [host, port] = address.split(':');
  const server = createServer((request, response) => {
    if (request.url !== '/metrics') return void response.writeHead(404).end();
    registry.metrics().then(
      (page) => response.writeHead(200, { 'content-type': registry.contentType }).end(page),
      () => response.writeHead(500).end(),
    );
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(Number(port), host, resolve);
  });
  return server;
}

/** Registers the gauge `sluice_alerts_open{kind}`. The returned function sets it for each kind of `countOpenByKind`. */
export function meterAlerts(
  registry: Registry,
  countOpenByKind: () => Promise<ReadonlyMap<AlertKind, number>>,
): () => Promise<void> {
  const gauge = new Gauge({
    name: 'sluice_alerts_open',
    help: 'Open alerts by kind.',
    labelNames: ['kind'],
    registers: [registry],
  });
  return async () => {
    for (const [kind, count] of await countOpenByKind()) gauge.set({ kind }, count);
  };
}

/**
 * Registers the gauge `sluice_settlements_unfinished{kind,status}`. The returned function sets every unfinished status,
 * including those with 0, for withdrawals and for each kind that has had a settlement since the process started.
 */
export function meterSettlements(
  registry: Registry,
  countUnfinished: () => Promise<readonly SettlementCount[]>,
): () => Promise<void> {
  const gauge = new Gauge({
    name: 'sluice_settlements_unfinished',
    help: 'Settlements that have not ended, by kind and status.',
    labelNames: ['kind', 'status'],
    registers: [registry],
  });
  const kinds = new Set([WITHDRAWAL]);
  return async () => {
    const counts = await countUnfinished();
    for (const { kind } of counts) kinds.add(kind);
    for (const kind of kinds) for (const status of UNFINISHED) gauge.set({ kind, status }, 0);
    for (const { kind, status, count } of counts) gauge.set({ kind, status }, count);
  };
}

/**
 * Registers the gauges `sluice_scan_*` of the deposit scan. The returned function sets them; an unknown value is NaN.
 */
export function meterScan(registry: Registry, read: () => Promise<ScanPosition>): () => Promise<void> {
  const gauge = (name: string, help: string) =>
    new Gauge({ name: `sluice_scan_${name}`, help, registers: [registry] });
  const cursorSlot = gauge('cursor_slot', 'Slot of the last block that was scanned.');
  const tipSlot = gauge('tip_slot', 'Newest slot that a quorum of nodes has finalized.');
  const lagSlots = gauge(
    'lag_slots',
    'Number of slots from the last scanned block to the newest finalized slot.',
  );
  return async () => {
    const { cursor, tip, lag } = await read();
    cursorSlot.set(Number(cursor?.slot ?? Number.NaN));
    tipSlot.set(Number(tip ?? Number.NaN));
    lagSlots.set(Number(lag ?? Number.NaN));
  };
}
