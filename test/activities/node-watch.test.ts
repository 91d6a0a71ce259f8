import { sql } from 'kysely';
import { beforeEach, describe, expect, it } from 'vitest';
import { reportNodeAlerts } from '../../src/platform/roles/nodes.ts';
import { NODE_ALERTS, type NodeWarning } from '../../src/solana/rpc/report.ts';
import { START } from '../ledger/chain-of-blocks.ts';
import { useLedger } from '../ledger/support.ts';

const use = useLedger();

/** One report of a worker that sees these rules broken. */
function report(...warnings: readonly NodeWarning[]): Promise<void> {
  return reportNodeAlerts(use.ledger, { warnings: () => warnings });
}

/** Makes every report so far older than an alert stays open without a new one. */
async function reportsEnd(): Promise<void> {
  await sql`update alert set last_seen_at = now() - interval '91 seconds'`.execute(use.ledger.db);
}

const ofAll = (kind: NodeWarning['kind']) => kind === 'too_few_nodes' || kind === 'nodes_of_one_provider';

async function open(): Promise<readonly string[]> {
  const { rows } = await use.ledger.alerts.list({ open: true, limit: 200 });
  return rows.map(({ kind, subject }) => `${kind} ${subject}`).toSorted();
}

beforeEach(async () => {
  await use.ledger.db.deleteFrom('alert').execute();
});

describe('the node watch', () => {
  it('opens an alert for each broken rule, and closes it when the rule holds again', async () => {
    await use.ledger.alerts.raise({ kind: 'unknown_spend', subject: 'sig', message: 'not about nodes' });
    const broken = NODE_ALERTS.map((kind): NodeWarning => {
      return { kind, node: ofAll(kind) ? null : `the-${kind}`, message: `${kind} is broken` };
    });
    await report(...broken);
    const about = NODE_ALERTS.map((kind) => `${kind} ${ofAll(kind) ? 'sluice' : `the-${kind}`}`);
    expect(await open()).toEqual([...about, 'unknown_spend sig'].toSorted());
    await reportsEnd();
    await report(...broken.filter(({ kind }) => kind === 'node_ledger_gap'));
    expect(await open()).toEqual(['node_ledger_gap the-node_ledger_gap', 'unknown_spend sig']);
    await reportsEnd();
    await report();
    expect(await open()).toEqual(['unknown_spend sig']);
  });

  it('keeps an alert open while one of two workers reports it, and closes it without a report', async () => {
    const behind: NodeWarning = { kind: 'node_version_behind', node: 'n', message: 'n is old' };
    const silent: NodeWarning = { kind: 'node_silent', node: 'm', message: 'm is silent' };
    await report(behind);
    await report(silent);
    await report();
    expect(await open()).toEqual(['node_silent m', 'node_version_behind n']);
    await reportsEnd();
    await report(behind);
    expect(await open()).toEqual(['node_version_behind n']);
  });

  it('names a node that lacks blocks the scanner needs', async () => {
    const needed: (bigint | null)[] = [];
    const pool = {
      warnings: (slot: bigint | null = null) => {
        needed.push(slot);
        return [];
      },
    };
    await reportNodeAlerts(use.ledger, pool);
    await use.ledger.scan.start(START);
    await reportNodeAlerts(use.ledger, pool);
    expect(needed).toEqual([null, START.slot]);
  });
});
