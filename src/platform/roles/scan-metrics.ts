import type { MetricGauge, MetricMeter } from '@temporalio/common';
import type { ScanPosition } from '../../domain/scan.ts';

/** Exports the deposit scan's position as gauges `sluice_scan_*` of its worker. Unknown values are omitted. */
export class ScanMetrics {
  readonly #gauges: readonly (readonly [MetricGauge, (position: ScanPosition) => string | null])[];

  constructor(meter: MetricMeter) {
    const gauge = (name: string, help: string): MetricGauge =>
      meter.createGauge(`sluice_scan_${name}`, 'float', undefined, help);
    this.#gauges = [
      [gauge('cursor_slot', 'The last block that was scanned.'), ({ cursor }) => cursor?.slot ?? null],
      [gauge('tip_slot', 'The newest slot that a quorum of nodes has finalized.'), ({ tip }) => tip],
      [gauge('lag_slots', 'Slots from the one to the other.'), ({ lag }) => lag],
    ];
  }

  record(position: ScanPosition): void {
    for (const [gauge, of] of this.#gauges) {
      const value = of(position);
      if (value !== null) gauge.set(Number(value));
    }
  }
}
