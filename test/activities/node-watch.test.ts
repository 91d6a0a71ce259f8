import { sql } from 'kysely';
import { beforeEach, describe, expect, it } from 'vitest';
import { createNodeWatch, type NodeWatchDeps, shareNodes } from '../../src/activities/node-watch.ts';
import type { NodeWarning } from '../../src/solana/rpc/report.ts';
import { useLedger } from '../ledger/support.ts';

const use = useLedger();

/** What one worker would see. */
function seen(worker: string, warnings: readonly NodeWarning[]): NodeWatchDeps {
  return { ledger: use.ledger, pool: { warnings: () => warnings, report: () => [] }, worker };
}

/** One round of a single worker. */
function round(...warnings: readonly NodeWarning[]): Promise<{ open: number }> {
  return createNodeWatch(seen('a', warnings)).watchNodes();
}

const RULES = {
  'few-nodes': 'too_few_nodes',
  'one-provider': 'nodes_of_one_provider',
  'history-off': 'node_history_off',
  'ledger-gap': 'node_ledger_gap',
  'version-behind': 'node_version_behind',
  lagging: 'node_lagging',
  silent: 'node_silent',
  'other-cluster': 'node_other_cluster',
  'same-node': 'node_twice',
  'false-word': 'node_false_word',
} as const satisfies Record<NodeWarning['rule'], string>;

const ofAll = (rule: NodeWarning['rule']) => rule === 'few-nodes' || rule === 'one-provider';

async function open(): Promise<readonly string[]> {
  const { rows } = await use.ledger.alerts.list({ open: true, limit: 200 });
  return rows.map(({ kind, subject }) => `${kind} ${subject}`).toSorted();
}

beforeEach(async () => {
  await use.ledger.db.deleteFrom('nodeView').execute();
  await use.ledger.db.deleteFrom('alert').execute();
});

describe('the watch over the nodes', () => {
  it('opens an alert for each broken rule and closes it when the rule is kept again', async () => {
    await use.ledger.alerts.raise({ kind: 'unknown_spend', subject: 'sig', message: 'not about nodes' });
    const rules = Object.keys(RULES) as NodeWarning['rule'][];
    const broken = rules.map((rule): NodeWarning => {
      return { rule, node: ofAll(rule) ? null : `the-${rule}`, message: `${rule} is broken` };
    });
    expect(await round(...broken)).toEqual({ open: rules.length });
    const about = rules.map((rule) => `${RULES[rule]} ${ofAll(rule) ? 'sluice' : `the-${rule}`}`);
    expect(await open()).toEqual([...about, 'unknown_spend sig'].toSorted());
    await round(...broken.filter(({ rule }) => rule === 'ledger-gap'));
    expect(await open()).toEqual(['node_ledger_gap the-ledger-gap', 'unknown_spend sig']);
    await round();
    expect(await open()).toEqual(['unknown_spend sig']);
  });

  it('keeps open what only one of two workers sees, whoever runs the round, and for as long as that one speaks', async () => {
    const behind: NodeWarning = { rule: 'version-behind', node: 'n', message: 'n is old' };
    const silent: NodeWarning = { rule: 'silent', node: 'm', message: 'm is silent' };
    await shareNodes(seen('b', [behind]));
    expect(await round(silent)).toEqual({ open: 2 });
    expect(await round(behind)).toEqual({ open: 1 });
    expect(await round()).toEqual({ open: 1 });
    expect(await open()).toEqual(['node_version_behind n']);
    await sql`update node_view set seen_at = now() - interval '4 minutes' where worker = 'b'`.execute(
      use.ledger.db,
    );
    expect(await round()).toEqual({ open: 0 });
    expect(await open()).toEqual([]);
  });
});
