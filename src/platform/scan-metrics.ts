import { Gauge, type Registry } from 'prom-client';
import type { ScanPosition } from '../domain/scan.ts';

/** Gauges `sluice_scan_*` of the deposit scan. The returned function updates them; an unknown value is NaN. */
export function meterScan(registry: Registry, read: () => Promise<ScanPosition>): () => Promise<void> {
  const gauge = (name: string, help: string) =>
    new Gauge({ name: `sluice_scan_${name}`, help, registers: [registry] });
  const cursorSlot = gauge('cursor_slot', 'The last block that was scanned.');
  const tipSlot = gauge('tip_slot', 'The newest slot that a quorum of nodes has finalized.');
  const lagSlots = gauge('lag_slots', 'Slots from the one to the other.');
  return async () => {
    const { cursor, tip, lag } = await read();
    cursorSlot.set(Number(cursor?.slot ?? Number.NaN));
    tipSlot.set(Number(tip ?? Number.NaN));
    lagSlots.set(Number(lag ?? Number.NaN));
  };
}
