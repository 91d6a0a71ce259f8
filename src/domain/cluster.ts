import { DomainError } from './errors.ts';

/** Cluster names in the settings. `localnet` is any private chain. */
export type ClusterName = 'localnet' | 'devnet' | 'mainnet-beta';

const GENESIS_HASH = {
  'mainnet-beta': '5eykt4UsFv8P8NJdTREpY1vzqKqZKvdpKuc147dw2N9d',
  devnet: 'EtWTRABZaYq6iMfeYKouRu166VU2xqa1wcaWoxPkrZBG',
} as const;

/**
 * Throws WrongCluster if this genesis hash does not belong to the configured cluster. A private chain can have any hash
 * except mainnet's. The devkit's localnet has devnet's, because x402 clients require a public cluster.
 */
export function checkClusterName(name: ClusterName, genesisHash: string): void {
  const isPrivate = name === 'localnet';
  if (isPrivate ? genesisHash !== GENESIS_HASH['mainnet-beta'] : genesisHash === GENESIS_HASH[name]) return;
  const expected = isPrivate
    ? 'is that of mainnet-beta, but SLUICE_CLUSTER is localnet'
    : `is not ${GENESIS_HASH[name]}, as SLUICE_CLUSTER=${name} requires`;
  const message = `the genesis hash of the nodes, ${genesisHash}, ${expected}`;
  throw new DomainError('WrongCluster', message, { nodes: genesisHash, cluster: name });
}

/** The mint of USDC on mainnet-beta, and for any other cluster that of devnet: a local chain has devnet's names. */
export function usdcMint(cluster: string): string {
  return cluster === 'mainnet-beta'
    ? 'EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v'
    : '4zMMC9srt5Ri5X14GAgXhaHii3GnPAEERYPJgZJDncDU';
}

export function isLoopback(url: string): boolean {
  return ['127.0.0.1', 'localhost', '[::1]'].includes(new URL(url).hostname);
}
