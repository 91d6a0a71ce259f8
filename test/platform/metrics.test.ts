import type { AddressInfo } from 'node:net';
import { expect, test } from 'vitest';
import { createRegistry, serveMetrics } from '../../src/platform/metrics.ts';

test('the metrics server has one page, with the metrics of the process', async () => {
  const server = await serveMetrics(createRegistry(), '127.0.0.1:0');
  const { port } = server.address() as AddressInfo;
  try {
    const answer = await fetch(`http://127.0.0.1:${port}/metrics`);
    expect(answer.headers.get('content-type')).toContain('text/plain');
    const page = await answer.text();
    expect(page).toMatch(/^process_start_time_seconds \d+$/m);
    expect(page).toMatch(/^process_resident_memory_bytes \d+$/m);
    expect((await fetch(`http://127.0.0.1:${port}/`)).status).toBe(404);
  } finally {
    server.close();
  }
});
