import type { FastifyInstance } from 'fastify';
import { Counter, Histogram, type Registry } from 'prom-client';

/** Counts and times every request of `app` by method, route (never the raw path) and status. */
export function meterRequests(app: FastifyInstance, registry: Registry): void {
  const registers = [registry];
  const requestCount = new Counter({
    name: 'sluice_http_requests_total',
    help: 'HTTP requests that were answered.',
    labelNames: ['method', 'route', 'status'],
    registers,
  });
  const requestSeconds = new Histogram({
    name: 'sluice_http_request_seconds',
    help: 'Seconds from a request to the end of its response.',
    labelNames: ['method', 'route'],
    registers,
  });
  app.addHook('onResponse', async ({ method, routeOptions }, { statusCode, elapsedTime }) => {
    const labels = { method, route: routeOptions.url ?? 'none' };
    requestCount.inc({ ...labels, status: statusCode });
    requestSeconds.observe(labels, elapsedTime / 1_000);
  });
}
