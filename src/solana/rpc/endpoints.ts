import { DomainError } from '../../domain/errors.ts';
import { isLoopback } from '../../domain/loopback.ts';

/** Refuses a set of node URLs that cannot make a pool: none, one that is not on loopback, or one node twice. Throws NoHealthyNode. */
export function checkUrls(urls: readonly string[]): void {
  if (urls.length === 0) throw new DomainError('NoHealthyNode', 'no RPC node is configured');
  if (urls.length === 1 && !urls.every(isLoopback)) {
    throw new DomainError('NoHealthyNode', 'one RPC node serves only on loopback: configure at least two');
  }
  // One node must not be its own second witness.
  const distinct = new Set(urls.map((url) => new URL(url).href));
  if (distinct.size < urls.length) {
    throw new DomainError('NoHealthyNode', 'the same RPC node is configured twice');
  }
}

/** A name for each URL: its host, for paths and queries carry keys; numbered where nodes of one provider share it. */
export function nodeNames(urls: readonly string[]): string[] {
  const hosts = urls.map((url) => new URL(url).host);
  return hosts.map((host, index) =>
    hosts.indexOf(host) === hosts.lastIndexOf(host) ? host : `${host}#${index + 1}`,
  );
}
