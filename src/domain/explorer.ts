import { isLoopback } from './cluster.ts';

export interface ExplorerSettings {
  /** Base URL of an explorer with the same paths as explorer.solana.com. */
  readonly explorerUrl: string;
  readonly cluster: string;
  readonly rpcUrls: readonly string[];
}

/**
 * URL of a transaction in the explorer. For a local chain it includes the first node's URL, from which the page reads.
 * URLs of remote nodes are never included, because they often contain provider keys.
 */
export function explorerLink(signature: string, settings: ExplorerSettings): string {
  const url = new URL(`${settings.explorerUrl.replace(/\/+$/, '')}/tx/${signature}`);
  const node = settings.rpcUrls[0];
  if (settings.cluster === 'localnet') {
    url.searchParams.set('cluster', 'custom');
    if (node !== undefined && isLoopback(node)) url.searchParams.set('customUrl', node);
  } else if (settings.cluster !== 'mainnet-beta') {
    url.searchParams.set('cluster', settings.cluster);
  }
  return url.href;
}
