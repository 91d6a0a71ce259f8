import type { FastifyInstance } from 'fastify';
import { Counter, Histogram, type Registry } from 'prom-client';

/** Counts and times every request of `app` by method, route (never the raw path) and status. */
export function meterRequests(app: FastifyInstance, registry: Registry): void {
  const registers = [registry];
  const answered = new Counter({
    name: 'sluice_http_requests_total',
    help: 'Answered requests.',
    labelNames: ['method', 'route', 'status'],
    registers,
  });
  const seconds = new Histogram({
    name: 'sluice_http_request_seconds',
    help: 'Time to the answer.',
    labelNames: ['method', 'route'],
    registers,
  });
  app.addHook('onResponse', async ({ method, routeOptions }, { statusCode, elapsedTime }) => {
    const labels = { method, route: routeOptions.url ?? 'none' };
    answered.inc({ ...labels, status: statusCode });
    seconds.observe(labels, elapsedTime / 1_000);
  });
}
