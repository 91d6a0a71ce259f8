import { WHOLE_SYSTEM } from '../../domain/alerts.ts';
import { checkClusterName } from '../../domain/cluster.ts';
import { TIMEOUTS } from '../../domain/timeouts.ts';
import type { Ledger } from '../../ledger/ledger.ts';
import type { PoolOptions } from '../../solana/rpc/node-registry.ts';
import { type NodePool, openNodePool } from '../../solana/rpc/pool.ts';
import { NODE_ALERTS } from '../../solana/rpc/report.ts';
import type { Config } from '../config.ts';

/** Opens the configured nodes. `admit` checks the genesis hash that a quorum returns. Throws as {@link openNodePool}. */
export function openNodes(
  { cluster, rpcUrls, rpcRequestsPerSecond, maxTransactionVersion }: Omit<Config<'x402'>, 'databaseUrl'>,
  admit: (genesisHash: string) => Promise<void>,
  handlers: Pick<PoolOptions, 'onNotice' | 'onProbe'> = {},
): Promise<NodePool> {
  return openNodePool(rpcUrls, {
    ...handlers,
    maxTransactionVersion,
    ...(rpcRequestsPerSecond === undefined ? {} : { requestsPerSecond: rpcRequestsPerSecond }),
    admit: (genesisHash) => {
      checkClusterName(cluster, genesisHash);
      return admit(genesisHash);
    },
  });
}

/** Three intervals: workers that do not observe a problem must not close the alert of a worker that does. */
const STALE_AFTER_SECONDS = (3 * TIMEOUTS.nodeReportMs) / 1_000;

/**
 * Raises the alerts about nodes that this worker observes, and closes alerts about nodes that no worker has raised for
 * three report intervals. Source: docs/interface.md, What the service does 7.
 */
export async function reportNodeAlerts(ledger: Ledger, pool: Pick<NodePool, 'warnings'>): Promise<void> {
  const warnings = pool.warnings(await ledger.blockHeaders.neededSlot());
  for (const { kind, node, message } of warnings)
    await ledger.alerts.raise({ kind, subject: node ?? WHOLE_SYSTEM, message });
  await ledger.alerts.closeStale(NODE_ALERTS, STALE_AFTER_SECONDS);
}
