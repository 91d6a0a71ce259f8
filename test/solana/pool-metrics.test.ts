import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Runtime } from '@temporalio/worker';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { type Localnet, startLocalnet } from '../../src/localnet/localnet.ts';
import { createLogger } from '../../src/platform/logging.ts';
import { Metrics, meterGauges, NodeMetrics } from '../../src/platform/metrics.ts';
import { installRuntime } from '../../src/platform/runtime.ts';
import { openNodePool } from '../../src/solana/rpc/pool.ts';

let localnet: Localnet;

beforeAll(async () => {
  localnet = await startLocalnet({ slotMs: 0, finalityLag: 2, nodes: 3 });
});
afterAll(() => localnet.close());

it('each probe shows the nodes as gauges, and only the present version and cause at 1', async () => {
  localnet.controls.setFault(2, '*', { kind: 'http', status: 503 });
  localnet.controls.setFault(0, 'getTransaction', { kind: 'error', code: -32011, message: 'off' });
  const metrics = new Metrics();
  const nodes = new NodeMetrics(metrics);
  const pool = await openNodePool(localnet.rpcUrls, {
    now: () => 0,
    onProbe: (report) => nodes.record(report),
  });
  const [a, , c] = pool.nodes.map(({ name }) => name);
  const page = () => metrics.render().split('\n');
  try {
    expect(page()).toEqual(
      expect.arrayContaining([
        `sluice_node_up{node="${a}"} 1`,
        `sluice_node_up{node="${c}"} 0`,
        `sluice_node_score{node="${a}"} 100`,
        `sluice_node_lag_slots{node="${a}"} 0`,
        `sluice_node_history{node="${a}"} 0`,
        `sluice_node_version{node="${a}",version="3.0.0"} 1`,
        `sluice_node_demoted{node="${c}",cause="silent"} 1`,
      ]),
    );
    expect(metrics.render()).not.toContain(`sluice_node_history{node="${c}"}`);

    localnet.controls.clearFaults();
    const updated = { kind: 'result', result: { 'solana-core': '3.1.0', 'feature-set': 1 } } as const;
    localnet.controls.setFault(0, 'getVersion', updated);
    await pool.probe();
    expect(page()).toEqual(
      expect.arrayContaining([
        `sluice_node_up{node="${c}"} 1`,
        `sluice_node_version{node="${a}",version="3.0.0"} 0`,
        `sluice_node_version{node="${a}",version="3.1.0"} 1`,
        `sluice_node_demoted{node="${c}",cause="silent"} 0`,
      ]),
    );
  } finally {
    await pool.close();
    localnet.controls.clearFaults();
  }
});

it('a worker shows them on the endpoint of the Temporal SDK', async () => {
  const port = await freePort();
  installRuntime(createLogger({ level: 'silent', name: 'test' }), `127.0.0.1:${port}`);
  const nodes = new NodeMetrics(meterGauges(Runtime.instance().metricMeter));
  const pool = await openNodePool(localnet.rpcUrls, {
    now: () => 0,
    onProbe: (report) => nodes.record(report),
  });
  try {
    const page = await (await fetch(`http://127.0.0.1:${port}/metrics`)).text();
    expect(page).toMatch(new RegExp(`sluice_node_score\\{[^}]*node="${pool.nodes[1]?.name}"[^}]*\\} 100`));
  } finally {
    await pool.close();
    await Runtime.instance().shutdown();
  }
});

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return port;
}
