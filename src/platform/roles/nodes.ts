import { WHOLE_SYSTEM } from '../../domain/alerts.ts';
import { checkClusterName } from '../../domain/cluster.ts';
import type { Ledger } from '../../ledger/ledger.ts';
import type { PoolOptions } from '../../solana/rpc/node-registry.ts';
import { type NodePool, openNodePool } from '../../solana/rpc/pool.ts';
import { NODE_ALERTS } from '../../solana/rpc/report.ts';
import type { Config } from '../config.ts';

/** Opens the configured nodes. `admit` checks their genesis hash with the database. Throws as {@link openNodePool}. */
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

/** Milliseconds between two reports of a worker. */
export const NODES_REPORTED_EVERY_MS = 30_000;
/** A node may be unreachable from one worker only, so an alert stays open for three reports after the last one. */
const OPEN_SECONDS = (3 * NODES_REPORTED_EVERY_MS) / 1_000;

/**
 * Raises an alert for each node rule that this worker sees broken. Closes node alerts that no worker has raised for
 * 90 seconds. Source: docs/interface.md, What the service does 7.
 */
export async function watchNodes(ledger: Ledger, pool: Pick<NodePool, 'warnings'>): Promise<void> {
  const warnings = pool.warnings(await ledger.keptBlocks.neededSlot());
  for (const { kind, node, message } of warnings)
    await ledger.alerts.raise({ kind, subject: node ?? WHOLE_SYSTEM, message });
  await ledger.alerts.closeUnseen(NODE_ALERTS, OPEN_SECONDS);
}
