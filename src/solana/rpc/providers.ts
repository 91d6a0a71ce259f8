/** Second levels of country domains, as `co` in `co.uk`. No public suffix list: a wrong guess costs one warning. */
const SECOND_LEVELS: ReadonlySet<string> = new Set([
  'ac',
  'co',
  'com',
  'edu',
  'go',
  'gov',
  'ne',
  'net',
  'or',
  'org',
]);

/** The registered domain of a node name (`host:port#2`); null for an IP address and a name without a dot. */
function registrableDomain(node: string): string | null {
  const host = node.replace(/#\d+$/, '').replace(/:\d+$/, '').toLowerCase();
  const labels = host.split('.').filter((label) => label !== '');
  const [top = '', second = ''] = labels.toReversed();
  if (labels.length < 2 || !/^[a-z]/.test(top) || host.startsWith('[')) return null;
  return labels.slice(top.length === 2 && SECOND_LEVELS.has(second) ? -3 : -2).join('.');
}

export function sharedDomains(nodes: readonly string[]): ReadonlyMap<string, readonly string[]> {
  const by = new Map<string, string[]>();
  for (const node of nodes) {
    const domain = registrableDomain(node);
    if (domain !== null) by.set(domain, [...(by.get(domain) ?? []), node]);
  }
  return new Map([...by].filter(([, group]) => group.length > 1));
}
