import { DomainError } from '../../domain/errors.ts';
import { isLoopback } from '../../domain/loopback.ts';

/** Throws NoHealthyNode for URLs that cannot form a pool: none, duplicates, or a single one not on loopback. */
export function checkUrls(urls: readonly string[]): void {
  if (urls.length === 0) throw new DomainError('NoHealthyNode', 'no RPC node is configured');
  if (urls.length === 1 && !urls.every(isLoopback)) {
    throw new DomainError('NoHealthyNode', 'one RPC node serves only on loopback: configure at least two');
  }
  // One node must not confirm its own answers.
  const distinct = new Set(urls.map((url) => new URL(url).href));
  if (distinct.size < urls.length) {
    throw new DomainError('NoHealthyNode', 'the same RPC node is configured twice');
  }
}

/** Node names: the host only, because paths and queries contain API keys; numbered if several URLs share a host. */
export function nodeNames(urls: readonly string[]): string[] {
  const hosts = urls.map((url) => new URL(url).host);
  return hosts.map((host, index) =>
    hosts.indexOf(host) === hosts.lastIndexOf(host) ? host : `${host}#${index + 1}`,
  );
}
