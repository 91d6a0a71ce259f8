import { createServer, type Server } from 'node:http';
import type { MetricGauge, MetricMeter } from '@temporalio/common';

type Labels = Readonly<Record<string, string>>;

interface Family {
  readonly type: 'counter' | 'gauge' | 'histogram';
  readonly help: string;
  readonly samples: Map<string, number>;
}

const SECONDS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];

function labelText(labels: Labels): string {
  const escape = (value: string) =>
    value.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('\n', '\\n');
  const parts = Object.entries(labels).map(([name, value]) => `${name}="${escape(value)}"`);
  return parts.length === 0 ? '' : `{${parts.join(',')}}`;
}

/** Metrics of a process that runs no Temporal worker, in the Prometheus text format. (Workers use the SDK's own endpoint.) */
export class Metrics {
  readonly #families = new Map<string, Family>();

  /** Adds to a counter; its name ends in `_total`. */
  count(name: string, help: string, labels: Labels = {}, by = 1): void {
    this.#add(this.#family(name, 'counter', help), name + labelText(labels), by);
  }

  /** Sets a gauge. */
  set(name: string, help: string, value: number, labels: Labels = {}): void {
    this.#family(name, 'gauge', help).samples.set(name + labelText(labels), value);
  }

  /** Adds a duration to a histogram; its name ends in `_seconds`. */
  observe(name: string, help: string, seconds: number, labels: Labels = {}): void {
    const family = this.#family(name, 'histogram', help);
    for (const bound of SECONDS) {
      this.#add(
        family,
        `${name}_bucket${labelText({ ...labels, le: String(bound) })}`,
        seconds <= bound ? 1 : 0,
      );
    }
    this.#add(family, `${name}_bucket${labelText({ ...labels, le: '+Inf' })}`, 1);
    this.#add(family, `${name}_sum${labelText(labels)}`, seconds);
    this.#add(family, `${name}_count${labelText(labels)}`, 1);
  }

  /** The page that Prometheus reads. */
  render(): string {
    this.set(
      'process_start_time_seconds',
      'Start of the process, Unix time.',
      Math.floor(Date.now() / 1000 - process.uptime()),
    );
    this.set('process_resident_memory_bytes', 'Resident memory.', process.memoryUsage.rss());
    const lines = [...this.#families].flatMap(([name, { type, help, samples }]) => [
      `# HELP ${name} ${help}`,
      `# TYPE ${name} ${type}`,
      ...[...samples].map(([sample, value]) => `${sample} ${value}`),
    ]);
    return `${lines.join('\n')}\n`;
  }

  #family(name: string, type: Family['type'], help: string): Family {
    const existing = this.#families.get(name);
    if (existing !== undefined) return existing;
    const family: Family = { type, help, samples: new Map() };
    this.#families.set(name, family);
    return family;
  }

  #add(family: Family, sample: string, by: number): void {
    family.samples.set(sample, (family.samples.get(sample) ?? 0) + by);
  }
}

/** Where gauges are shown: {@link Metrics}, or {@link meterGauges} in a worker. */
export type Gauges = Pick<Metrics, 'set'>;

/** Gauges on the endpoint of the Temporal SDK, which a worker has instead of its own. */
export function meterGauges(meter: MetricMeter): Gauges {
  const gauges = new Map<string, MetricGauge>();
  return {
    set: (name, help, value, labels) => {
      const gauge = gauges.get(name) ?? meter.createGauge(name, 'float', undefined, help);
      gauges.set(name, gauge);
      gauge.set(value, labels);
    },
  };
}

/** What {@link NodeMetrics} shows of a Solana node; null = not known. `errorRate` is 0 to 1. */
export interface NodeSample {
  readonly node: string;
  readonly membership: string;
  readonly processedSlot: bigint | null;
  readonly version: string | null;
  readonly firstAvailableBlock: bigint | null;
  readonly history: 'on' | 'off' | 'unknown';
  readonly lagSlots: bigint | null;
  readonly latencyMs: number | null;
  readonly errorRate: number;
  readonly score: number;
  readonly demoted: { readonly cause: string } | null;
}

/** Shows Solana nodes as gauges by name of the node. What is not known of a node is not shown. */
export class NodeMetrics {
  readonly #gauges: Gauges;
  readonly #words = new Map<string, Labels>();

  constructor(gauges: Gauges) {
    this.#gauges = gauges;
  }

  record(nodes: readonly NodeSample[]): void {
    for (const sample of nodes) this.#recordOne(sample);
  }

  #recordOne(sample: NodeSample): void {
    const { node, demoted, latencyMs } = sample;
    const show = (name: string, help: string, value: number | bigint | null): void => {
      if (value !== null) this.#gauges.set(`sluice_node_${name}`, help, Number(value), { node });
    };
    const answers = sample.membership === 'joined' && sample.processedSlot !== null;
    show('up', '1 where the node belongs to the pool and answered the newest probe.', Number(answers));
    show('score', 'How well the node serves, 0 to 100.', sample.score);
    show('error_ratio', 'Share of faults in its newest answers.', sample.errorRate);
    show('latency_seconds', 'Mean time to answer a probe.', latencyMs === null ? null : latencyMs / 1000);
    show('lag_slots', 'Slots behind the best node.', sample.lagSlots);
    show('first_available_block', 'First slot of its ledger.', sample.firstAvailableBlock);
    const history = sample.history === 'unknown' ? null : Number(sample.history === 'on');
    show('history', '1 where it keeps transactions.', history);
    this.#word('sluice_node_version', 'Its version.', node, 'version', sample.version);
    this.#word('sluice_node_demoted', 'Why it is not asked first.', node, 'cause', demoted?.cause ?? null);
  }

  /** A word is a label of a gauge at 1; the word that it replaces goes to 0. */
  #word(name: string, help: string, node: string, label: string, word: string | null): void {
    const key = `${name} ${node}`;
    const before = this.#words.get(key);
    if (before !== undefined && before[label] !== word) this.#gauges.set(name, help, 0, before);
    if (word === null) return void this.#words.delete(key);
    const labels = { node, [label]: word };
    this.#words.set(key, labels);
    this.#gauges.set(name, help, 1, labels);
  }
}

/** The part of a fastify instance that {@link meterRequests} uses. */
interface RequestHooks {
  addHook(
    name: 'onResponse',
    hook: (
      request: { readonly method: string; readonly routeOptions: { readonly url?: string | undefined } },
      reply: { readonly statusCode: number; readonly elapsedTime: number },
    ) => Promise<void>,
  ): unknown;
}

/** Counts and times every request of a fastify app by method, route (never the raw path) and status. */
export function meterRequests(app: RequestHooks, metrics: Metrics): void {
  app.addHook('onResponse', async (request, reply) => {
    const labels = { method: request.method, route: request.routeOptions.url ?? 'none' };
    metrics.count('sluice_http_requests_total', 'Answered requests.', {
      ...labels,
      status: String(reply.statusCode),
    });
    metrics.observe('sluice_http_request_seconds', 'Time to the answer.', reply.elapsedTime / 1000, labels);
  });
}

/** Serves `GET /metrics` on `address` (`host:port`), apart from the public API. */
export async function serveMetrics(metrics: Metrics, address: string): Promise<Server> {
  const [host, port] = address.split(':');
  const server = createServer((request, response) => {
    if (request.url !== '/metrics') response.writeHead(404).end();
    else response.writeHead(200, { 'content-type': 'text/plain; version=0.0.4' }).end(metrics.render());
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(Number(port), host, resolve);
  });
  return server;
}
