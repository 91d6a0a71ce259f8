import { DomainError } from './errors.ts';

/** Cluster names in the settings. `localnet` is any private chain. */
export type ClusterName = 'localnet' | 'devnet' | 'mainnet-beta';

const GENESIS_HASH = {
  'mainnet-beta': '5eykt4UsFv8P8NJdTREpY1vzqKqZKvdpKuc147dw2N9d',
  devnet: 'EtWTRABZaYq6iMfeYKouRu166VU2xqa1wcaWoxPkrZBG',
} as const;

/**
 * Throws WrongCluster if this genesis hash is not that of the configured cluster. A private chain has any hash except
 * mainnet's. Localnet returns devnet's, for x402 clients.
 */
export function checkClusterName(name: ClusterName, genesisHash: string): void {
  const isPrivate = name === 'localnet';
  if (isPrivate ? genesisHash !== GENESIS_HASH['mainnet-beta'] : genesisHash === GENESIS_HASH[name]) return;
  const expected = isPrivate
    ? 'no private chain, as localnet says'
    : `not ${GENESIS_HASH[name]}, which is ${name}`;
  const message = `the nodes belong to cluster ${genesisHash}: ${expected} (SLUICE_CLUSTER)`;
  throw new DomainError('WrongCluster', message, { nodes: genesisHash, cluster: name });
}

export function isLoopback(url: string): boolean {
  return ['127.0.0.1', 'localhost', '[::1]'].includes(new URL(url).hostname);
}
