import type { AlertKind } from '../../domain/alerts.ts';
import type { Demotion } from './health.ts';
import { sharedDomains } from './node-urls.ts';
import type { NodeFacts } from './probe.ts';

/** `silent`: the node has not answered yet. `refused`: it belongs to another cluster, or is another member's node. */
export type Membership = 'joined' | 'silent' | 'refused';

/**
 * One node's state. `finalizedSlot`: from the newest probe; null if that probe failed. `latencyMs` and `errorRate` (0
 * to 1) are running means.
 */
export interface NodeReport extends Omit<NodeFacts, 'genesisHash'> {
  readonly node: string;
  readonly membership: Membership;
  readonly genesisHash: string | null;
  /** Name of the member whose URL leads to the same node; null if there is none. */
  readonly sameAs: string | null;
  readonly finalizedSlot: bigint | null;
  readonly lagSlots: bigint | null;
  readonly missingMethods: readonly string[];
  readonly latencyMs: number | null;
  readonly errorRate: number;
  readonly score: number;
  readonly demotion: Demotion | null;
  readonly calls: number;
}

/** Alert kinds for broken rules of node operation. */
export const NODE_ALERTS = [
  'too_few_nodes',
  'nodes_of_one_provider',
  'node_history_off',
  'node_ledger_gap',
  'node_version_behind',
  'node_lagging',
  'node_false_answer',
  'node_silent',
  'node_other_cluster',
  'node_twice',
] as const satisfies readonly AlertKind[];

/** A broken rule of node operation. `node`: null if the rule is about all nodes. */
export interface NodeWarning {
  readonly kind: (typeof NODE_ALERTS)[number];
  readonly node: string | null;
  readonly message: string;
}

/** A survey of nodes. `genesisHash`: null if no quorum agrees on one. */
export interface PoolReport {
  readonly genesisHash: string | null;
  readonly quorum: number;
  readonly nodes: readonly NodeReport[];
  readonly warnings: readonly NodeWarning[];
}

/** `newest`: the newest release among the joined nodes. */
type Rule = (
  node: NodeReport,
  limits: { readonly newest: Release | null; readonly neededSlot: bigint | null },
) => string | null;

/** Rules for a joined node. Each returns what follows the node's name in the warning, or null if the rule is met. */
const JOINED_RULES = {
  node_history_off: ({ history }) =>
    history === 'off'
      ? 'stores no transaction history: start the node with --enable-rpc-transaction-history'
      : null,
  node_ledger_gap: ({ firstAvailableBlock: first }, { neededSlot }) =>
    first !== null && neededSlot !== null && first > neededSlot
      ? `has no blocks before slot ${first}, but blocks from slot ${neededSlot} on are needed. Restart nodes from their own ledger, not from a snapshot`
      : null,
  node_version_behind: ({ version }, { newest }) => {
    const own = releaseOf(version);
    const isBehind = own !== null && newest !== null && compareReleases(own, newest) < 0;
    return isBehind
      ? `runs version ${version}, but another node runs ${newest.join('.')}: update the node`
      : null;
  },
  node_lagging: ({ demotion }) => (demotion?.cause === 'lag' ? demotion.reason : null),
  node_false_answer: ({ demotion }) =>
    demotion?.cause === 'false' ? `is asked last: ${demotion.reason}` : null,
} as const satisfies Partial<Record<NodeWarning['kind'], Rule>>;

/**
 * The broken rules of node operation. `neededSlot`: the lowest slot whose blocks an open attempt or the scan needs.
 * Source: docs/interface.md, What the service does 7.
 */
export function nodeWarnings(
  reports: readonly NodeReport[],
  neededSlot: bigint | null = null,
): readonly NodeWarning[] {
  const joined = reports.filter(({ membership }) => membership === 'joined');
  const releases = joined.map(({ version }) => releaseOf(version));
  const limits = { newest: releases.toSorted(compareReleases).at(-1) ?? null, neededSlot };
  return [
    ...providerWarnings(reports),
    ...nodeCountWarnings(joined.filter(({ finalizedSlot }) => finalizedSlot !== null).length, reports.length),
    ...reports.flatMap((report) =>
      report.membership === 'joined' ? warningsOf(report, limits) : [absenceWarning(report)],
    ),
  ];
}

function warningsOf(...[report, limits]: Parameters<Rule>): readonly NodeWarning[] {
  const { node } = report;
  return Object.entries(JOINED_RULES).flatMap(([kind, textOf]) => {
    const text = textOf(report, limits);
    return text === null
      ? []
      : [{ kind: kind as keyof typeof JOINED_RULES, node, message: `${node} ${text}` }];
  });
}

function absenceWarning({ node, membership, sameAs, demotion }: NodeReport): NodeWarning {
  const reason = demotion?.reason ?? '';
  if (membership === 'silent')
    return { kind: 'node_silent', node, message: `${node} does not answer: ${reason}` };
  const kind = sameAs === null ? 'node_other_cluster' : 'node_twice';
  return { kind, node, message: `${node} ${reason}` };
}

function nodeCountWarnings(answeringCount: number, configuredCount: number): NodeWarning[] {
  if (answeringCount >= 2) return [];
  const message = `${answeringCount} of ${configuredCount} RPC nodes ${answeringCount === 1 ? 'answers' : 'answer'}: run at least two`;
  return [{ kind: 'too_few_nodes', node: null, message }];
}

function providerWarnings(reports: readonly NodeReport[]): NodeWarning[] {
  const acceptedNodes = reports.filter(({ membership }) => membership !== 'refused');
  const groupsByDomain = [...sharedDomains(acceptedNodes.map(({ node }) => node))];
  if (groupsByDomain.length === 0) return [];
  const groups = groupsByDomain.map(([domain, nodes]) => `${nodes.join(', ')} at ${domain}`).join('; ');
  const message = `several nodes belong to one provider and can fail or return false answers together: ${groups}. Add a node of another provider`;
  return [{ kind: 'nodes_of_one_provider', node: null, message }];
}

type Release = readonly [major: number, minor: number, patch: number];

// Frankendancer releases have the major version 0 and cannot be compared with those of Agave.
function releaseOf(version: string | null): Release | null {
  const match = /^(\d+)\.(\d+)\.(\d+)/.exec(version ?? '');
  if (match === null || match[1] === '0') return null;
  return [Number(match[1]), Number(match[2]), Number(match[3])];
}

function compareReleases(a: Release | null, b: Release | null): number {
  if (a === null || b === null) return Number(a !== null) - Number(b !== null);
  return a[0] - b[0] || a[1] - b[1] || a[2] - b[2];
}
