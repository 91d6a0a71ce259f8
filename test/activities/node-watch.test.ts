import { describe, expect, it } from 'vitest';
import { createNodeWatch } from '../../src/activities/node-watch.ts';
import type { NodeWarning } from '../../src/solana/rpc/report.ts';
import { useLedger } from '../ledger/support.ts';

const use = useLedger();

/** One round over what a pool would say. */
function round(...warnings: readonly NodeWarning[]): Promise<{ open: number }> {
  return createNodeWatch({ ledger: use.ledger, pool: { warnings: () => warnings } }).watchNodes();
}

async function open(): Promise<readonly string[]> {
  const { rows } = await use.ledger.alerts.list({ open: true, limit: 200 });
  return rows.map(({ kind, subject }) => `${kind} ${subject}`).toSorted();
}

describe('the watch over the nodes', () => {
  it('opens an alert for each broken rule and closes it when the rule is kept again', async () => {
    await use.ledger.alerts.raise({ kind: 'unknown_spend', subject: 'sig', message: 'not about nodes' });
    const few: NodeWarning = { rule: 'few-nodes', node: null, message: '1 of 2 nodes serve' };
    const broken = (['history-off', 'lagging', 'other-cluster', 'silent'] as const).map(
      (rule, index): NodeWarning => ({ rule, node: 'abcd'.charAt(index), message: `${rule} is broken` }),
    );
    expect(await round(few, ...broken)).toEqual({ open: 5 });
    expect(await open()).toEqual([
      'node_history_off a',
      'node_lagging b',
      'node_other_cluster c',
      'node_silent d',
      'too_few_nodes sluice',
      'unknown_spend sig',
    ]);
    await round(...broken.filter(({ rule }) => rule === 'other-cluster'));
    expect(await open()).toEqual(['node_other_cluster c', 'unknown_spend sig']);
    await round();
    expect(await open()).toEqual(['unknown_spend sig']);
  });
});
