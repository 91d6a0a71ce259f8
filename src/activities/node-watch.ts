import { type Alarm, type AlertKind, WHOLE } from '../domain/alerts.ts';
import type { Ledger } from '../ledger/ledger.ts';
import type { NodePool } from '../solana/rpc/pool.ts';
import { ledgersOf, type NodeWarning } from '../solana/rpc/report.ts';

export interface NodeWatchDeps {
  readonly ledger: Ledger;
  readonly pool: Pick<NodePool, 'warnings' | 'report'>;
  /** Unique name of this process among all workers. */
  readonly worker: string;
}

const KIND_OF: Readonly<Record<NodeWarning['rule'], AlertKind>> = {
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
};

/** Stores this process's view of the nodes, for {@link createNodeWatch} and for processes that start later. */
export async function shareNodes({ ledger, pool, worker }: NodeWatchDeps): Promise<void> {
  await ledger.nodeLedgers.keep(ledgersOf(pool.report()));
  await ledger.nodeViews.put(worker, pool.warnings().map(alarmOf));
}

/** Keeps the node alerts up to date. Source: docs/interface.md, What the service does 7. */
export function createNodeWatch(deps: NodeWatchDeps) {
  const { ledger } = deps;
  return {
    /**
     * Opens an alert for each node rule that any worker sees broken; closes the others. Any worker may run
     * it, because the stored views of all workers count. Returns the number of open alerts.
     */
    async watchNodes(): Promise<{ readonly open: number }> {
      await shareNodes(deps);
      const alarms = await ledger.nodeViews.together();
      await ledger.alerts.keepOnly(Object.values(KIND_OF), alarms);
      return { open: alarms.length };
    },
  };
}

function alarmOf({ rule, node, message }: NodeWarning): Alarm {
  return { kind: KIND_OF[rule], subject: node ?? WHOLE, message };
}
