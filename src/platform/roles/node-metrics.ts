import type { MetricGauge, MetricMeter } from '@temporalio/common';
import type { NodeReport } from '../../solana/rpc/report.ts';

interface NodeGauge<Value> {
  readonly name: string;
  readonly help: string;
  readonly of: (report: NodeReport) => Value | null;
}

const NUMBERS: readonly NodeGauge<number | bigint>[] = [
  {
    name: 'up',
    help: '1 where the node belongs to the pool and answered the newest probe.',
    of: ({ membership, finalizedSlot }) => Number(membership === 'joined' && finalizedSlot !== null),
  },
  { name: 'score', help: 'How well the node serves, 0 to 100.', of: ({ score }) => score },
  { name: 'error_ratio', help: 'Share of faults in its newest answers.', of: ({ errorRate }) => errorRate },
  {
    name: 'latency_seconds',
    help: 'Mean time to answer a probe.',
    of: ({ latencyMs }) => (latencyMs === null ? null : latencyMs / 1_000),
  },
  { name: 'lag_slots', help: 'Slots behind the best node.', of: ({ lagSlots }) => lagSlots },
  {
    name: 'first_available_block',
    help: 'First slot of its ledger.',
    of: ({ firstAvailableBlock }) => firstAvailableBlock,
  },
  {
    name: 'history',
    help: '1 where it keeps transactions.',
    of: ({ history }) => (history === 'unknown' ? null : Number(history === 'on')),
  },
];

const TEXTS: readonly (NodeGauge<string> & { readonly label: string })[] = [
  { name: 'version', help: 'Its version.', label: 'version', of: ({ version }) => version },
  {
    name: 'demoted',
    help: 'Why it is not asked first.',
    label: 'cause',
    of: ({ demoted }) => demoted?.cause ?? null,
  },
];

/** Exports Solana nodes as gauges `sluice_node_*{node}` of a worker. Unknown values are omitted. */
export class NodeMetrics {
  readonly #numbers: readonly (readonly [MetricGauge, NodeGauge<number | bigint>])[];
  readonly #texts: readonly (readonly [MetricGauge, (typeof TEXTS)[number]])[];
  /** Current text by gauge and node. */
  readonly #current = new Map<string, string>();

  constructor(meter: MetricMeter) {
    const gauge = ({ name, help }: NodeGauge<unknown>): MetricGauge =>
      meter.createGauge(`sluice_node_${name}`, 'float', undefined, help);
    this.#numbers = NUMBERS.map((metric) => [gauge(metric), metric]);
    this.#texts = TEXTS.map((metric) => [gauge(metric), metric]);
  }

  record(reports: readonly NodeReport[]): void {
    for (const report of reports) {
      for (const [gauge, { of }] of this.#numbers) {
        const value = of(report);
        if (value !== null) gauge.set(Number(value), { node: report.node });
      }
      for (const [gauge, shown] of this.#texts) this.#recordText(gauge, shown, report);
    }
  }

  /** A text is a label: 1 for the current one, 0 for the previous one. */
  #recordText(gauge: MetricGauge, { name, label, of }: (typeof TEXTS)[number], report: NodeReport): void {
    const { node } = report;
    const [key, text] = [`${name}/${node}`, of(report)];
    const before = this.#current.get(key);
    if (before !== undefined && before !== text) gauge.set(0, { node, [label]: before });
    this.#current.delete(key);
    if (text === null) return;
    gauge.set(1, { node, [label]: text });
    this.#current.set(key, text);
  }
}
