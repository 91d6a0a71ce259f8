import { DomainError } from './errors.ts';

/** Names of clusters in the settings. `localnet` is any private chain. */
export type ClusterName = 'localnet' | 'devnet' | 'mainnet-beta';

const GENESIS_HASH = {
  'mainnet-beta': '5eykt4UsFv8P8NJdTREpY1vzqKqZKvdpKuc147dw2N9d',
  devnet: 'EtWTRABZaYq6iMfeYKouRu166VU2xqa1wcaWoxPkrZBG',
} as const;

/**
 * Throws WrongCluster where nodes with this genesis hash are not of the cluster that the settings name. A private chain has any hash
 * (ours shows devnet's, for x402 clients), but never mainnet's.
 */
export function checkClusterName(name: ClusterName, genesisHash: string): void {
  const wanted = name === 'localnet' ? null : GENESIS_HASH[name];
  const isIt = wanted === null ? genesisHash !== GENESIS_HASH['mainnet-beta'] : genesisHash === wanted;
  if (isIt) return;
  const expected = wanted === null ? `no private chain, as ${name} says` : `not ${wanted}, which is ${name}`;
  const message = `the nodes belong to cluster ${genesisHash}: ${expected} (SLUICE_CLUSTER)`;
  throw new DomainError('WrongCluster', message, { nodes: genesisHash, cluster: name });
}
