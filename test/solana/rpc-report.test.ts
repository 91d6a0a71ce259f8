import { describe, expect, it } from 'vitest';
import { type NodeReport, nodeWarnings } from '../../src/solana/rpc/report.ts';

function report(node: string, about: Partial<NodeReport> = {}): NodeReport {
  return {
    node,
    membership: 'joined',
    sameAs: null,
    genesisHash: 'g',
    version: '3.0.0',
    firstAvailableBlock: 0n,
    history: 'on',
    identity: null,
    finalizedSlot: 1n,
    lagSlots: null,
    missingMethods: [],
    latencyMs: null,
    errorRate: 0,
    score: 100,
    demotion: null,
    calls: 0,
    ...about,
  };
}

const rules = (...reports: NodeReport[]) => nodeWarnings(reports).map(({ kind, node }) => `${kind} ${node}`);

describe('the rules of node operation', () => {
  it('require two nodes that serve', () => {
    expect(rules(report('a'), report('b'))).toEqual([]);
    expect(rules(report('a'))).toEqual(['too_few_nodes null']);
    expect(rules(report('a'), report('b', { membership: 'silent' }))).toEqual([
      'too_few_nodes null',
      'node_silent b',
    ]);
    expect(rules(report('a'), report('b', { finalizedSlot: null }))).toEqual(['too_few_nodes null']);
  });

  it.each([
    ['a.nodes.example', 'b.nodes.example', 'nodes.example'],
    ['nodes.example', 'eu.NODES.example:8443', 'nodes.example'],
    ['nodes.example#1', 'nodes.example#2', 'nodes.example'],
    ['a.nodes.co.uk', 'b.nodes.co.uk', 'nodes.co.uk'],
  ])('require nodes of independent providers: not %s and %s', (one, other, domain) => {
    expect(nodeWarnings([report(one), report('x.example'), report(other)])).toEqual([
      {
        kind: 'nodes_of_one_provider',
        node: null,
        message: expect.stringContaining(
          `one provider and can fail or return false answers together: ${one}, ${other} at ${domain}`,
        ),
      },
    ]);
  });

  it.each([
    ['a.example', 'b.example'],
    ['one.co.uk', 'other.co.uk'],
    ['127.0.0.1:1', '127.0.0.1:2'],
    ['[::1]:1', '[::1]:2'],
    ['validator', 'validator:2'],
    ['10.0.0.1', '10.1.0.1'],
  ])('accept %s and %s as independent nodes', (one, other) => {
    expect(rules(report(one), report(other))).toEqual([]);
  });

  it('require each node to keep up, to answer, and to be of the same cluster', () => {
    const warningsAbout = (about: Partial<NodeReport>) =>
      nodeWarnings([report('a'), report('b'), report('c', about)]).map(({ kind, message }) => [
        kind,
        message,
      ]);
    const lag = { cause: 'lag', reason: 'is 200 slots behind the other nodes' } as const;
    expect(warningsAbout({ demotion: lag })).toEqual([
      ['node_lagging', 'c is 200 slots behind the other nodes'],
    ]);
    expect(warningsAbout({ demotion: { cause: 'fault', reason: 'HTTP 503' } })).toEqual([]);
    const silent = { membership: 'silent', demotion: { cause: 'silent', reason: 'HTTP 503' } } as const;
    expect(warningsAbout(silent)).toEqual([['node_silent', 'c does not answer: HTTP 503']]);
    const reason = 'belongs to the cluster with genesis hash x, not g';
    const refused = { membership: 'refused', demotion: { cause: 'refused', reason } } as const;
    expect(warningsAbout(refused)).toEqual([['node_other_cluster', `c ${reason}`]]);
    const twin = {
      membership: 'refused',
      sameAs: 'a',
      demotion: { cause: 'refused', reason: 'is a' },
    } as const;
    expect(warningsAbout(twin)).toEqual([['node_twice', 'c is a']]);
  });

  it('require the needed blocks, and only of nodes that report their first block', () => {
    const nodes = [
      report('a'),
      report('b', { firstAvailableBlock: 9n }),
      report('c', { firstAvailableBlock: null }),
    ];
    const named = (neededSlot: bigint | null) =>
      nodeWarnings(nodes, neededSlot).map(({ kind, node }) => `${kind} ${node}`);
    expect(named(8n)).toEqual(['node_ledger_gap b']);
    expect(named(9n)).toEqual([]);
    expect(named(null)).toEqual([]);
  });

  it('compare releases by number, and skip nodes with another version scheme or none', () => {
    const of = (...versions: (string | null)[]) =>
      rules(...versions.map((version, index) => report(`n${index}`, { version })));
    expect(of('3.10.0', '3.9.9')).toEqual(['node_version_behind n1']);
    expect(of('2.3.13', '3.0.0', '3.0.0')).toEqual(['node_version_behind n0']);
    expect(of('3.0.0', '0.708.20306', null)).toEqual([]);
    expect(of('3.0.1 (fork)', '3.0.1')).toEqual([]);
  });
});
