import { WHOLE } from '../domain/alerts.ts';
import type { Ledger } from '../ledger/ledger.ts';
import type { NodePool } from '../solana/rpc/pool.ts';
import { NODE_ALERTS } from '../solana/rpc/report.ts';

export interface NodeWatchDeps {
  readonly ledger: Ledger;
  readonly pool: Pick<NodePool, 'warnings'>;
}

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
  for (const { kind, node, message } of warnings)
    await ledger.alerts.raise({ kind, subject: node ?? WHOLE, message });
  await ledger.alerts.closeUnseen(NODE_ALERTS, OPEN_SECONDS);
}
