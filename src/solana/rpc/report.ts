import type { Demotion } from './health.ts';
import type { KnownLedger, LedgerGap } from './ledger-gap.ts';
import type { NodeFacts } from './probe.ts';
import { sharedDomains } from './providers.ts';

/** `silent`: no answer since the start. `refused`, for good: of another cluster, or joined under another URL. */
export type Membership = 'joined' | 'silent' | 'refused';

/**
 * One node's state. Slots: from the newest probe, null if it failed; latency and error rate (0 to 1): running means.
 */
export interface NodeReport {
  readonly node: string;
  readonly membership: Membership;
  readonly genesisHash: string | null;
  /** The name under which this node has joined by another URL; null otherwise. */
  readonly sameAs: string | null;
  readonly version: string | null;
  readonly firstAvailableBlock: bigint | null;
  readonly history: NodeFacts['history'];
  readonly ledgerGap: LedgerGap | null;
  readonly processedSlot: bigint | null;
  readonly finalizedSlot: bigint | null;
  readonly lagSlots: bigint | null;
  readonly missingMethods: readonly string[];
  readonly latencyMs: number | null;
  readonly errorRate: number;
  readonly score: number;
  readonly demoted: Demotion | null;
  readonly calls: number;
}

/** Ledgers of joined nodes by name, to be stored for the next process. Nodes without answers are left out. */
export function ledgersOf(reports: readonly NodeReport[]): ReadonlyMap<string, KnownLedger> {
  return new Map(
    reports.flatMap(
      ({ node, membership, firstAvailableBlock: first, finalizedSlot: finalized, ledgerGap }) =>
        membership !== 'joined' || first === null || finalized === null
          ? []
          : [[node, { first, finalized, gap: ledgerGap }]],
    ),
  );
}

/** A broken rule of node operation; `node` null = it concerns all. */
export interface NodeWarning {
  readonly rule:
    | 'few-nodes'
    | 'one-provider'
    | 'history-off'
    | 'ledger-gap'
    | 'version-behind'
    | 'lagging'
    | 'false-word'
    | 'silent'
    | 'other-cluster'
    | 'same-node';
  readonly node: string | null;
  readonly message: string;
}

/** A pool: its cluster (null if no quorum returns one), its nodes, and the broken rules of operation. */
export interface PoolReport {
  readonly genesisHash: string | null;
  readonly quorum: number;
  readonly nodes: readonly NodeReport[];
  readonly warnings: readonly NodeWarning[];
}

/** The broken rules of node operation. Source: docs/interface.md, What the service does 7. */
export function nodeWarnings(reports: readonly NodeReport[]): NodeWarning[] {
  const joined = reports.filter(({ membership }) => membership === 'joined');
  const newest =
    joined
      .map(({ version }) => releaseOf(version))
      .toSorted(compareReleases)
      .at(-1) ?? null;
  return [
    ...oneProvider(reports),
    ...fewNodes(joined.filter(({ processedSlot }) => processedSlot !== null).length, reports.length),
    ...reports.flatMap((report) =>
      report.membership === 'joined'
        ? [
            ...historyOff(report),
            ...ledgerGap(report),
            ...behind(report, newest),
            ...lagging(report),
            ...disprovedAnswer(report),
          ]
        : absent(report),
    ),
  ];
}

function fewNodes(answering: number, configured: number): NodeWarning[] {
  if (answering >= 2) return [];
  const message = `${answering} of ${configured} nodes answer: run at least two`;
  return [{ rule: 'few-nodes', node: null, message }];
}

function oneProvider(reports: readonly NodeReport[]): NodeWarning[] {
  const serving = reports.filter(({ membership }) => membership !== 'refused');
  const shared = [...sharedDomains(serving.map(({ node }) => node))];
  if (shared.length === 0) return [];
  const groups = shared.map(([domain, nodes]) => `${nodes.join(', ')} at ${domain}`).join('; ');
  const message = `nodes of one provider are hardly two witnesses: ${groups}. Add a node of another provider`;
  return [{ rule: 'one-provider', node: null, message }];
}

function historyOff({ node, history }: NodeReport): NodeWarning[] {
  if (history !== 'off') return [];
  const message = `${node} keeps no transaction history: start it with --enable-rpc-transaction-history`;
  return [{ rule: 'history-off', node, message }];
}

function ledgerGap({ node, ledgerGap: gap }: NodeReport): NodeWarning[] {
  if (gap === null) return [];
  const message = `${node} lost the blocks from ${gap.from} to ${gap.to}: it started from a new snapshot, the gap stays`;
  return [{ rule: 'ledger-gap', node, message }];
}

function behind({ node, version }: NodeReport, newest: Release | null): NodeWarning[] {
  const own = releaseOf(version);
  if (own === null || newest === null || compareReleases(own, newest) >= 0) return [];
  const message = `${node} runs ${version}, others ${newest.join('.')}: update it`;
  return [{ rule: 'version-behind', node, message }];
}

function lagging({ node, demoted }: NodeReport): NodeWarning[] {
  return demoted?.cause === 'lag' ? [{ rule: 'lagging', node, message: `${node} ${demoted.reason}` }] : [];
}

function disprovedAnswer({ node, demoted }: NodeReport): NodeWarning[] {
  if (demoted?.cause !== 'false') return [];
  return [{ rule: 'false-word', node, message: `${node} ${demoted.reason}: it is asked last` }];
}

function absent({ node, membership, sameAs, demoted }: NodeReport): NodeWarning[] {
  const reason = demoted?.reason ?? '';
  if (sameAs !== null) return [{ rule: 'same-node', node, message: `${node} ${reason}` }];
  return membership === 'refused'
    ? [{ rule: 'other-cluster', node, message: `${node} ${reason}` }]
    : [{ rule: 'silent', node, message: `${node} does not answer: ${reason}` }];
}

type Release = readonly [major: number, minor: number, patch: number];

// Frankendancer numbers its own releases below 1, which cannot be compared with those of Agave.
function releaseOf(version: string | null): Release | null {
  const match = /^(\d+)\.(\d+)\.(\d+)/.exec(version ?? '');
  if (match === null || match[1] === '0') return null;
  return [Number(match[1]), Number(match[2]), Number(match[3])];
}

function compareReleases(a: Release | null, b: Release | null): number {
  if (a === null || b === null) return Number(a !== null) - Number(b !== null);
  return a[0] - b[0] || a[1] - b[1] || a[2] - b[2];
}
