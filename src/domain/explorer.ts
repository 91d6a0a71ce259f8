import { isLoopback } from './cluster.ts';

export interface ExplorerSettings {
  /** Root of an explorer with the same paths as explorer.solana.com. */
  readonly explorerUrl: string;
  readonly cluster: string;
  readonly rpcUrls: readonly string[];
}

/**
 * URL of a transaction. For a local chain, the explorer page reads from the first node through the reader's
 * browser. URLs of other nodes are never included: they often contain provider keys.
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
