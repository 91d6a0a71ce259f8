import type { AddressInfo } from 'node:net';
import Fastify from 'fastify';
import { expect, test } from 'vitest';
import { Metrics, meterRequests, serveMetrics } from '../../src/platform/metrics.ts';

test('requests are counted by route, not by path, and served to Prometheus', async () => {
  const metrics = new Metrics();
  const app = Fastify();
  meterRequests(app, metrics);
  app.get('/things/:id', async () => 'ok');
  await app.inject('/things/1');
  await app.inject('/things/2');
  const server = await serveMetrics(metrics, '127.0.0.1:0');
  const { port } = server.address() as AddressInfo;
  const page = await (await fetch(`http://127.0.0.1:${port}/metrics`)).text();
  expect(page).toContain('sluice_http_requests_total{method="GET",route="/things/:id",status="200"} 2');
  expect(page).toContain('sluice_http_request_seconds_bucket{method="GET",route="/things/:id",le="+Inf"} 2');
  expect(page).toContain('# TYPE sluice_http_request_seconds histogram');
  expect((await fetch(`http://127.0.0.1:${port}/`)).status).toBe(404);
  server.close();
  await app.close();
});

test('label values are escaped', () => {
  const metrics = new Metrics();
  metrics.set('x', 'help', 1, { why: 'a "b"\n' });
  expect(metrics.render()).toContain('x{why="a \\"b\\"\\n"} 1');
});
