import type { MetricGauge, MetricMeter } from '@temporalio/common';
import type { NodeReport } from '../../solana/rpc/report.ts';

interface NodeGauge<Value> {
  readonly name: string;
  readonly help: string;
  readonly read: (report: NodeReport) => Value | null;
}

const NUMBER_GAUGES: readonly NodeGauge<number | bigint>[] = [
  {
    name: 'up',
    help: '1 if the node belongs to the pool and has answered the newest probe, else 0.',
    read: ({ membership, finalizedSlot }) => Number(membership === 'joined' && finalizedSlot !== null),
  },
  { name: 'score', help: 'Quality of the node, from 0 to 100.', read: ({ score }) => score },
  {
    name: 'error_ratio',
    help: 'Share of the newest answers of the node that were faults.',
    read: ({ errorRate }) => errorRate,
  },
  {
    name: 'latency_seconds',
    help: 'Mean time in which the node answers a probe.',
    read: ({ latencyMs }) => (latencyMs === null ? null : latencyMs / 1_000),
  },
  {
    name: 'lag_slots',
    help: 'Number of slots that the node is behind the best node.',
    read: ({ lagSlots }) => lagSlots,
  },
  {
    name: 'first_available_block',
    help: 'First slot of the ledger that the node stores.',
    read: ({ firstAvailableBlock }) => firstAvailableBlock,
  },
  {
    name: 'history',
    help: '1 if the node stores transaction history, else 0.',
    read: ({ history }) => (history === 'unknown' ? null : Number(history === 'on')),
  },
];

const TEXT_GAUGES: readonly (NodeGauge<string> & { readonly label: string })[] = [
  {
    name: 'version',
    help: 'Version of the node software.',
    label: 'version',
    read: ({ version }) => version,
  },
  {
    name: 'demoted',
    help: 'Reason why the node is asked only after other nodes.',
    label: 'cause',
    read: ({ demotion }) => demotion?.cause ?? null,
  },
];

/** Gauges `sluice_node_*{node}` of a worker about its Solana nodes. Unknown values are omitted. */
export class NodeMetrics {
  readonly #numbers: readonly (readonly [MetricGauge, NodeGauge<number | bigint>])[];
  readonly #texts: readonly (readonly [MetricGauge, (typeof TEXT_GAUGES)[number]])[];
  /** Current text, by gauge and node. */
  readonly #currentTexts = new Map<string, string>();

  constructor(meter: MetricMeter) {
    const gauge = ({ name, help }: NodeGauge<unknown>): MetricGauge =>
      meter.createGauge(`sluice_node_${name}`, 'float', undefined, help);
    this.#numbers = NUMBER_GAUGES.map((metric) => [gauge(metric), metric]);
    this.#texts = TEXT_GAUGES.map((metric) => [gauge(metric), metric]);
  }

  record(reports: readonly NodeReport[]): void {
    for (const report of reports) {
      for (const [gauge, { read }] of this.#numbers) {
        const value = read(report);
        if (value !== null) gauge.set(Number(value), { node: report.node });
      }
      for (const [gauge, metric] of this.#texts) this.#recordText(gauge, metric, report);
    }
  }

  /** Exports a text as a label: the gauge is 1 with the current text and 0 with the previous one. */
  #recordText(
    gauge: MetricGauge,
    { name, label, read }: (typeof TEXT_GAUGES)[number],
    report: NodeReport,
  ): void {
    const { node } = report;
    const [key, text] = [`${name}/${node}`, read(report)];
    const previousText = this.#currentTexts.get(key);
    if (previousText !== undefined && previousText !== text) gauge.set(0, { node, [label]: previousText });
    this.#currentTexts.delete(key);
    if (text === null) return;
    gauge.set(1, { node, [label]: text });
    this.#currentTexts.set(key, text);
  }
}
