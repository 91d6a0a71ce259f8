import { type Alarm, type AlertKind, WHOLE } from '../domain/alerts.ts';
import type { Ledger } from '../ledger/ledger.ts';
import type { NodePool } from '../solana/rpc/pool.ts';
import type { NodeWarning } from '../solana/rpc/report.ts';

export interface NodeWatchDeps {
  readonly ledger: Ledger;
  readonly pool: Pick<NodePool, 'warnings'>;
}

const KIND_OF: Readonly<Record<NodeWarning['rule'], AlertKind>> = {
  'few-nodes': 'too_few_nodes',
  'history-off': 'node_history_off',
  'ledger-gap': 'node_ledger_gap',
  'version-behind': 'node_version_behind',
  lagging: 'node_lagging',
  silent: 'node_silent',
  'other-cluster': 'node_other_cluster',
};
/** Keeps the alerts about nodes in step with what the pool knows. Source: exchange-interface: Withdrawals 7 (node operation rules). */
export function createNodeWatch({ ledger, pool }: NodeWatchDeps) {
  return {
    /** Opens an alert for each node rule that is not kept and closes those that are kept again; answers how many are open. */
    async watchNodes(): Promise<{ readonly open: number }> {
      const alarms = pool.warnings().map(alarmOf);
      await ledger.alerts.keepOnly(Object.values(KIND_OF), alarms);
      return { open: alarms.length };
    },
  };
}

function alarmOf({ rule, node, message }: NodeWarning): Alarm {
  return { kind: KIND_OF[rule], subject: node ?? WHOLE, message };
}
