import { type Alarm, type AlertKind, WHOLE } from '../domain/alerts.ts';
import type { Ledger } from '../ledger/ledger.ts';
import type { NodePool } from '../solana/rpc/pool.ts';
import { ledgersOf, type NodeWarning } from '../solana/rpc/report.ts';

export interface NodeWatchDeps {
  readonly ledger: Ledger;
  readonly pool: Pick<NodePool, 'warnings' | 'report'>;
  /** Names this process among all workers. */
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

/** Puts on record what this process sees of the nodes, for the rounds of {@link createNodeWatch} and for whoever starts next. */
export async function shareNodes({ ledger, pool, worker }: NodeWatchDeps): Promise<void> {
  await ledger.nodeLedgers.keep(ledgersOf(pool.report()));
  await ledger.nodeViews.put(worker, pool.warnings().map(alarmOf));
}

/** Keeps the alerts about nodes in step with what the pools know. Source: docs/interface.md, What the service does 7. */
export function createNodeWatch(deps: NodeWatchDeps) {
  const { ledger } = deps;
  return {
    /**
     * Opens an alert for each node rule that a worker sees broken and closes those that all see kept again; answers how many are open.
     * Any worker may run the round: what only another one sees stays open.
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
