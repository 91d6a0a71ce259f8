import { Gauge, type Registry } from 'prom-client';
import { type SettlementCount, UNFINISHED, WITHDRAWAL } from '../domain/settlement.ts';

/**
 * Gauge `sluice_settlements_unfinished{kind,status}`. The returned function updates it for every unfinished status of
 * withdrawals and of each kind seen since the process started, 0 included.
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
