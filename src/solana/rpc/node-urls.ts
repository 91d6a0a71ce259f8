import { isLoopback } from '../../domain/cluster.ts';
import { DomainError } from '../../domain/errors.ts';

/** Throws NoHealthyNode for URLs that cannot form a pool: none, a repeated one, or a single one not on loopback. */
export function checkUrls(urls: readonly string[]): void {
  if (urls.length === 0) throw new DomainError('NoHealthyNode', 'no RPC node is configured');
  if (urls.length === 1 && !urls.every(isLoopback)) {
    throw new DomainError(
      'NoHealthyNode',
      'a single RPC node is accepted only on loopback: configure at least two',
    );
  }
  // Two URLs of one node would let that node confirm its own answers.
  const distinct = new Set(urls.map((url) => new URL(url).href));
  if (distinct.size < urls.length) {
    throw new DomainError('NoHealthyNode', 'the same RPC node URL is configured twice');
  }
}

/**
 * A name for each URL: the host, because paths and queries contain API keys; `host#2` if several URLs have that host.
 */
export function nodeNames(urls: readonly string[]): string[] {
  const hosts = urls.map((url) => new URL(url).host);
  return hosts.map((host, index) =>
    hosts.indexOf(host) === hosts.lastIndexOf(host) ? host : `${host}#${index + 1}`,
  );
}

/**
 * Second levels of country domains, such as `co` in `co.uk`. A wrong guess costs one warning, so no suffix list is
 * used.
 */
const SECOND_LEVEL = /^(?:ac|com?|edu|gov?|net?|org?)$/;

/** The registrable domain of a node name (`host:port#2`); null for an IP address or a name without a dot. */
function registrableDomain(node: string): string | null {
  const host = node.replace(/#\d+$/, '').replace(/:\d+$/, '').toLowerCase();
  const labels = host.split('.').filter((label) => label !== '');
  const [top = '', second = ''] = labels.toReversed();
  if (labels.length < 2 || !/^[a-z]/.test(top) || host.startsWith('[')) return null;
  return labels.slice(top.length === 2 && SECOND_LEVEL.test(second) ? -3 : -2).join('.');
}

/** Node names by registrable domain, for the domains of two or more nodes. */
export function sharedDomains(nodes: readonly string[]): ReadonlyMap<string, readonly string[]> {
  const nodesByDomain = new Map<string, string[]>();
  for (const node of nodes) {
    const domain = registrableDomain(node);
    if (domain !== null) nodesByDomain.set(domain, [...(nodesByDomain.get(domain) ?? []), node]);
  }
  return new Map([...nodesByDomain].filter(([, group]) => group.length > 1));
}
