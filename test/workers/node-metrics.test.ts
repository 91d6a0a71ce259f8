import { Runtime } from '@temporalio/worker';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { type Localnet, startLocalnet } from '../../devkit/localnet/localnet.ts';
import { freePort } from '../../devkit/localstack/ports.ts';
import { createLogger } from '../../src/platform/logging.ts';
import { NodeMetrics } from '../../src/platform/roles/node-metrics.ts';
import { installRuntime } from '../../src/platform/runtime.ts';
import { openNodePool } from '../../src/solana/rpc/pool.ts';

const PRUNED_UP_TO = 3;
let localnet: Localnet;
let endpoint: string;

beforeAll(async () => {
  localnet = await startLocalnet({ slotMs: 0, finalityLag: 2, nodes: 3 });
  const address = `127.0.0.1:${await freePort()}`;
  installRuntime(createLogger({ level: 'silent', name: 'test' }), address);
  endpoint = `http://${address}/metrics`;
});
afterAll(async () => {
  await localnet?.close();
  await Runtime.instance().shutdown();
});

/** The gauges of nodes on the endpoint of the Temporal SDK, as `name{own labels}` and value. */
async function gauges(): Promise<Readonly<Record<string, number>>> {
  const page = await (await fetch(endpoint)).text();
  const lines = [...page.matchAll(/^sluice_node_(\w+)\{(.*)\} (\S+)$/gm)];
  return Object.fromEntries(
    lines.map(([, name, labels = '', value]) => {
      const own = labels.split(',').filter((label) => /^(node|version|cause)=/.test(label));
      return [`${name}{${own.toSorted().join(',')}}`, Number(value)];
    }),
  );
}

it('each probe updates the node gauges on the endpoint of the worker, with only the current version and cause at 1', async () => {
  localnet.controls.setFault(2, '*', { kind: 'http', status: 503 });
  localnet.controls.setFault(0, 'getTransaction', { kind: 'error', code: -32011, message: 'off' });
  localnet.controls.setFault(0, '*', { kind: 'history-from', slot: PRUNED_UP_TO });
  const nodes = new NodeMetrics(Runtime.instance().metricMeter);
  const pool = await openNodePool(localnet.rpcUrls, {
    now: () => 0,
    onProbe: (report) => nodes.record(report),
  });
  const [a, , c] = pool.nodes.map(({ name }) => name);
  const silent = pool.report().find(({ node }) => node === c);
  try {
    expect(silent?.errorRate).toBeGreaterThan(0);
    const before = await gauges();
    expect(before).toMatchObject({
      [`up{node="${a}"}`]: 1,
      [`up{node="${c}"}`]: 0,
      [`score{node="${a}"}`]: 100,
      [`lag_slots{node="${a}"}`]: 0,
      [`history{node="${a}"}`]: 0,
      [`first_available_block{node="${a}"}`]: PRUNED_UP_TO,
      [`error_ratio{node="${a}"}`]: 0,
      [`error_ratio{node="${c}"}`]: silent?.errorRate,
      [`latency_seconds{node="${a}"}`]: 0,
      [`version{node="${a}",version="3.0.0"}`]: 1,
      [`demoted{cause="silent",node="${c}"}`]: 1,
    });
    for (const unknown of ['history', 'first_available_block', 'latency_seconds'])
      expect(before).not.toHaveProperty([`${unknown}{node="${c}"}`]);

    localnet.controls.clearFaults();
    const updated = { kind: 'result', result: { 'solana-core': '3.1.0', 'feature-set': 1 } } as const;
    localnet.controls.setFault(0, 'getVersion', updated);
    await pool.probe();
    expect(await gauges()).toMatchObject({
      [`up{node="${c}"}`]: 1,
      [`version{node="${a}",version="3.0.0"}`]: 0,
      [`version{node="${a}",version="3.1.0"}`]: 1,
      [`demoted{cause="silent",node="${c}"}`]: 0,
    });
  } finally {
    await pool.close();
    localnet.controls.clearFaults();
  }
});
