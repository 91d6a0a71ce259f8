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

const WORDS: readonly (NodeGauge<string> & { readonly label: string })[] = [
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
  readonly #words: readonly TextGauge[];

  constructor(meter: MetricMeter) {
    const gauge = ({ name, help }: NodeGauge<unknown>): MetricGauge =>
      meter.createGauge(`sluice_node_${name}`, 'float', undefined, help);
    this.#numbers = NUMBERS.map((shown) => [gauge(shown), shown]);
    this.#words = WORDS.map((shown) => new TextGauge(gauge(shown), shown.label, shown.of));
  }

  record(reports: readonly NodeReport[]): void {
    for (const report of reports) {
      for (const [gauge, { of }] of this.#numbers) {
        const value = of(report);
        if (value !== null) gauge.set(Number(value), { node: report.node });
      }
      for (const word of this.#words) word.record(report);
    }
  }
}

/** A gauge with a text label: 1 for the current text, 0 for the previous one. */
class TextGauge {
  readonly #gauge: MetricGauge;
  readonly #label: string;
  readonly #of: NodeGauge<string>['of'];
  readonly #shown = new Map<string, string>();

  constructor(gauge: MetricGauge, label: string, of: NodeGauge<string>['of']) {
    this.#gauge = gauge;
    this.#label = label;
    this.#of = of;
  }

  record(report: NodeReport): void {
    const { node } = report;
    const word = this.#of(report);
    const before = this.#shown.get(node);
    if (before !== undefined && before !== word) this.#gauge.set(0, { node, [this.#label]: before });
    this.#shown.delete(node);
    if (word === null) return;
    this.#gauge.set(1, { node, [this.#label]: word });
    this.#shown.set(node, word);
  }
}
