import { type Alarm, type AlertKind, WHOLE } from '../domain/alerts.ts';
import type { Ledger } from '../ledger/ledger.ts';
import type { NodePool } from '../solana/rpc/pool.ts';
import type { NodeReport, NodeWarning } from '../solana/rpc/report.ts';

export interface NodeWatchDeps {
  readonly ledger: Ledger;
  readonly pool: Pick<NodePool, 'report' | 'warnings'>;
}

const KIND_OF: Readonly<Record<NodeWarning['rule'], AlertKind>> = {
  'few-nodes': 'too_few_nodes',
  'history-off': 'node_history_off',
  'ledger-gap': 'node_ledger_gap',
  'version-behind': 'node_version_behind',
};
const NODE_KINDS: readonly AlertKind[] = [
  ...Object.values(KIND_OF),
  'node_other_cluster',
  'node_lagging',
  'node_silent',
];

/** Keeps the alerts about nodes in step with what the pool knows. Source: exchange-interface: Withdrawals 7 (node operation rules). */
export function createNodeWatch({ ledger, pool }: NodeWatchDeps) {
  return {
    /** Opens an alert for each node rule that is not kept and closes those that are kept again; answers how many are open. */
    async watchNodes(): Promise<{ readonly open: number }> {
      const alarms = [...pool.warnings().map(alarmOf), ...pool.report().flatMap(alarmsOfNode)];
      await ledger.alerts.keepOnly(NODE_KINDS, alarms);
      return { open: alarms.length };
    },
  };
}

function alarmOf({ rule, node, message }: NodeWarning): Alarm {
  return { kind: KIND_OF[rule], subject: node ?? WHOLE, message };
}

function alarmsOfNode({ node, membership, demoted }: NodeReport): Alarm[] {
  const why = demoted?.why ?? '';
  if (membership === 'refused') {
    const message = `${node} belongs to another cluster and is refused for good: ${why}`;
    return [{ kind: 'node_other_cluster', subject: node, message }];
  }
  if (membership === 'silent')
    return [{ kind: 'node_silent', subject: node, message: `${node} has never answered: ${why}` }];
  if (demoted?.cause === 'lag')
    return [{ kind: 'node_lagging', subject: node, message: `${node} lags: ${why}` }];
  return [];
}
