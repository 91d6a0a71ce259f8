import type { Command } from '@commander-js/extra-typings';
import type { ErrorCode } from '../domain/errors.ts';
import type { ClusterRow } from '../ledger/operations/cluster.ts';
import type { NodeReport, PoolReport } from '../solana/rpc/report.ts';
import { type Columns, localCommand, print, table } from './command.ts';
import { databaseUrl, withDatabase } from './database.ts';
import { missingSetting, readDevFile, settings } from './dev-file.ts';
import { EXIT } from './exit.ts';

/** `sluice nodes`: the current state of the Solana nodes, as a worker sees them. */
export function registerNodes(program: Command): void {
  const nodes = program.command('nodes').description('Show the Solana nodes of SLUICE_RPC_URLS');
  localCommand(
    nodes,
    'list',
    'List the nodes with version, lag, history and faults; exit code 5 without a quorum',
  ).action((options) => print(options, survey, renderNodes, ({ ok }) => (ok ? EXIT.ok : EXIT.unavailable)));
}

/** The survey, with an error if no payment could be made through these nodes. */
async function survey() {
  const urls = nodeUrls();
  // A dynamic import, so that other commands start without the Solana client.
  const { surveyNodes } = await import('../solana/rpc/pool.ts');
  const { cluster, neededSlot } = await readStored();
  const found = { ...(await surveyNodes(urls, neededSlot)), database: cluster };
  const error = failureOf(found);
  return { ok: error === null, ...(error === null ? {} : { error }), ...found };
}

/** `database`: cluster of the database; null if the database cannot be read or no worker has used it yet. */
type Survey = PoolReport & { readonly database: ClusterRow | null };

interface DatabaseState {
  readonly cluster: ClusterRow | null;
  readonly neededSlot: bigint | null;
}

/** Reads the cluster of the database and the lowest slot that it needs; nulls if the database cannot be read. */
async function readStored(): Promise<DatabaseState> {
  const unknownState: DatabaseState = { cluster: null, neededSlot: null };
  if (databaseUrl() === undefined) return unknownState;
  const read = withDatabase(async (ledger) => ({
    cluster: await ledger.cluster.get(),
    neededSlot: await ledger.blockHeaders.neededSlot(),
  }));
  return read.catch(() => unknownState);
}

function nodeUrls(): readonly string[] {
  const urls = settings().rpcUrls ?? readDevFile().rpcUrls;
  if (urls === undefined) throw missingSetting('SLUICE_RPC_URLS');
  return urls;
}

function failureOf(found: Survey): { readonly code: ErrorCode; readonly message: string } | null {
  const { genesisHash, database } = found;
  if (genesisHash === null) return { code: 'NoHealthyNode', message: summary(found) };
  if (database === null || database.genesisHash === genesisHash) return null;
  return { code: 'WrongCluster', message: describeCluster(found) };
}

function describeCluster({ genesisHash, database }: Survey): string {
  if (database === null) return 'the database is not bound to a cluster yet, or cannot be read';
  return database.genesisHash === genesisHash
    ? `the database has been bound to this cluster since ${database.boundAt.toISOString()}`
    : `the nodes belong to cluster ${genesisHash}, but the database is bound to cluster ${database.genesisHash}: no worker starts`;
}

function renderNodes(report: Survey): string {
  return [
    table('nodes', COLUMNS, report.nodes),
    ...report.warnings.map(({ message }) => `warning: ${message}`),
    summary(report),
    ...(report.genesisHash === null ? [] : [describeCluster(report)]),
  ].join('\n');
}

function summary({ nodes, quorum, genesisHash }: PoolReport): string {
  const joined = nodes.filter(({ membership }) => membership === 'joined').length;
  const cluster =
    genesisHash === null ? 'no quorum of nodes reports the same cluster' : `cluster ${genesisHash}`;
  return `${joined} of ${nodes.length} nodes serve, ${quorum} must agree; ${cluster}`;
}

const COLUMNS: Columns<NodeReport> = {
  node: ({ node }) => node,
  state: ({ membership }) => membership,
  version: ({ version }) => version ?? '?',
  lag: ({ lagSlots }) => String(lagSlots ?? '?'),
  'first block': ({ firstAvailableBlock }) => String(firstAvailableBlock ?? '?'),
  history: ({ history }) => (history === 'unknown' ? '?' : history),
  latency: ({ latencyMs }) => (latencyMs === null ? '?' : `${Math.round(latencyMs)} ms`),
  score: ({ score }) => String(score),
  demotion: ({ demotion }) => demotion?.reason ?? '',
};
