import { createServer, type Server } from 'node:http';

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
