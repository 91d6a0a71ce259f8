import { describe, expect, it } from 'vitest';
import { createNodeWatch } from '../../src/activities/node-watch.ts';
import type { NodeReport, NodeWarning } from '../../src/solana/rpc/report.ts';
import { useLedger } from '../ledger/support.ts';

const use = useLedger();

const healthy: NodeReport = {
  node: 'a',
  membership: 'joined',
  genesisHash: 'g',
  version: '3.0.0',
  firstAvailableBlock: 0n,
  history: 'on',
  ledgerGap: null,
  processedSlot: 9n,
  finalizedSlot: 1n,
  lagSlots: 0n,
  missingMethods: [],
  latencyMs: 1,
  errorRate: 0,
  score: 100,
  demoted: null,
  calls: 1,
};

/** One round over what a pool would say. */
function round(
  reports: readonly NodeReport[],
  warnings: readonly NodeWarning[] = [],
): Promise<{ open: number }> {
  const pool = { report: () => reports, warnings: () => [...warnings] };
  return createNodeWatch({ ledger: use.ledger, pool }).watchNodes();
}

async function open(): Promise<readonly string[]> {
  const { rows } = await use.ledger.alerts.list({ open: true, limit: 200 });
  return rows.map(({ kind, subject }) => `${kind} ${subject}`).toSorted();
}

describe('the watch over the nodes', () => {
  it('opens an alert for each broken rule and closes it when the rule is kept again', async () => {
    await use.ledger.alerts.raise({ kind: 'unknown_spend', subject: 'sig', message: 'not about nodes' });
    const few: NodeWarning = { rule: 'few-nodes', node: null, message: '1 of 2 nodes serve' };
    const off: NodeWarning = { rule: 'history-off', node: 'a', message: 'a keeps no history' };
    const behind: NodeReport = { ...healthy, node: 'b', demoted: { cause: 'lag', why: '90 slots behind' } };
    const foreign: NodeReport = { ...healthy, node: 'c', membership: 'refused' };
    const silent: NodeReport = { ...healthy, node: 'd', membership: 'silent' };
    expect(await round([healthy, behind, foreign, silent], [few, off])).toEqual({ open: 5 });
    expect(await open()).toEqual([
      'node_history_off a',
      'node_lagging b',
      'node_other_cluster c',
      'node_silent d',
      'too_few_nodes sluice',
      'unknown_spend sig',
    ]);
    await round([healthy, { ...behind, demoted: null }, foreign]);
    expect(await open()).toEqual(['node_other_cluster c', 'unknown_spend sig']);
    await round([healthy]);
    expect(await open()).toEqual(['unknown_spend sig']);
  });
});
