import { createServer, type Server } from 'node:http';
import { collectDefaultMetrics, Gauge, Registry } from 'prom-client';
import type { AlertKind } from '../domain/alerts.ts';
import { type PaymentCount, UNSERVED_STATES } from '../domain/payment.ts';
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
 * Registers the gauges `sluice_x402_payments{seller,state}`, of unfinished payments, `sluice_x402_owed_oldest_seconds` and
 * `sluice_x402_unpaid_answers`. The returned function sets them.
 */
export function meterPayments(
  registry: Registry,
  read: () => Promise<{ readonly unfinished: readonly PaymentCount[]; readonly unpaid: number }>,
): () => Promise<void> {
  const registers = [registry];
  const payments = new Gauge({
    name: 'sluice_x402_payments',
    help: 'x402 payments that are settling, or that are paid and not served.',
    labelNames: ['seller', 'state'],
    registers,
  });
  const oldest = new Gauge({
    name: 'sluice_x402_owed_oldest_seconds',
    help: 'Seconds since the oldest payment of the gateway was paid that is not served; 0 if there is none.',
    registers,
  });
  const unpaidAnswers = new Gauge({
    name: 'sluice_x402_unpaid_answers',
    help: 'x402 payments that were served and never paid, until an operator acknowledges them.',
    registers,
  });
  return async () => {
    const { unfinished, unpaid } = await read();
    for (const seller of ['gateway', 'facilitator'])
      for (const state of UNSERVED_STATES) payments.set({ seller, state }, 0);
    for (const { seller, state, count } of unfinished) payments.set({ seller, state }, count);
    const owed = unfinished.find(({ seller, state }) => seller === 'gateway' && state === 'owed');
    oldest.set(owed?.oldestSeconds ?? 0);
    unpaidAnswers.set(unpaid);
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
