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

/** Time between two reports of a worker. */
export const NODES_REPORTED_EVERY_MS = 30_000;
/** A node may be unreachable from one worker only, so an alert stays open for three reports after the last one. */
const OPEN_SECONDS = (3 * NODES_REPORTED_EVERY_MS) / 1_000;

/**
 * Raises an alert for each node rule that this worker sees broken. Closes node alerts that no worker has raised for
 * 90 seconds. Source: docs/interface.md, What the service does 7.
 */
export async function watchNodes({ ledger, pool }: NodeWatchDeps): Promise<void> {
  const warnings = pool.warnings(await ledger.keptBlocks.neededSlot());
  for (const warning of warnings) await ledger.alerts.raise(alarmOf(warning));
  await ledger.alerts.closeUnseen(Object.values(KIND_OF), OPEN_SECONDS);
}

function alarmOf({ rule, node, message }: NodeWarning): Alarm {
  return { kind: KIND_OF[rule], subject: node ?? WHOLE, message };
}
