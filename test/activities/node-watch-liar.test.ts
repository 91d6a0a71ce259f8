import { describe, expect, it } from 'vitest';
import { reportNodeAlerts } from '../../src/platform/roles/nodes.ts';
import { useLiar } from '../deposits/lying-proxy.ts';
import { useScanFixture } from '../deposits/scan-fixture.ts';
import type { AnyJson } from '../support/node-proxy.ts';

const fixture = useScanFixture(3);
const nodes = useLiar(fixture);

const UNKEPT: readonly (readonly [string, string, AnyJson])[] = [
  ['a version with a NUL', 'getVersion', { 'solana-core': '1.0.0\0' }],
  ['a slot that no database holds', 'getSlot', `${2n ** 64n - 1n}`],
  ['a first block that no database holds', 'getFirstAvailableBlock', `${2n ** 64n - 1n}`],
];

describe('a value that one node reports about itself', () => {
  it.each(UNKEPT)('hides no alert about that node or other nodes: %s', async (_name, method, result) => {
    nodes.liar.edit = (asked, _params, answer) => (asked === method ? { ...answer, result } : answer);
    for (let rounds = 0; rounds < 3; rounds += 1) await nodes.pool.probe();
    nodes.pool.distrust(nodes.pool.nodes[0]?.name ?? '', 'showed a transaction that a quorum denies');
    await reportNodeAlerts(fixture.ledger, nodes.pool);
    const { rows } = await fixture.ledger.alerts.list({ open: true, limit: 10 });
    expect(rows.map(({ kind }) => kind)).toContain('node_false_answer');
  });
});
