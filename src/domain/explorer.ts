import { isLoopback } from './loopback.ts';

/** What a link to a block explorer needs to know. */
export interface ExplorerSettings {
  /** Root of an explorer with the paths of explorer.solana.com. */
  readonly explorerUrl: string;
  readonly cluster: string;
  readonly rpcUrls: readonly string[];
}

/**
 * Page of a transaction; a local chain is shown by the reader's own browser through the first node. The address of any other node
 * stays with us: providers put their keys there.
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
