import type { Command } from '@commander-js/extra-typings';
import type { ErrorCode } from '../domain/errors.ts';
import type { ClusterRow } from '../ledger/operations/cluster.ts';
import type { NodeReport, PoolReport } from '../solana/rpc/report.ts';
import { type Columns, localCommand, print, table } from './command.ts';
import { databaseUrl, withDatabase } from './database.ts';
import { notSet, readDevFile, settings } from './dev-file.ts';
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
  // Imported here, so that other commands start without the Solana client.
  const { surveyNodes } = await import('../solana/rpc/pool.ts');
  const { cluster, neededSlot } = await stored();
  const found = { ...(await surveyNodes(urls, neededSlot)), record: cluster };
  const error = failureOf(found);
  return { ok: error === null, ...(error === null ? {} : { error }), ...found };
}

/** Node states, and the cluster of the database. Null without a database, or before a worker has used it. */
type Survey = PoolReport & { readonly record: ClusterRow | null };

interface Stored {
  readonly cluster: ClusterRow | null;
  readonly neededSlot: bigint | null;
}

/** The database's cluster, and the lowest slot that is needed; nulls if no database can be read. */
async function stored(): Promise<Stored> {
  const nothing: Stored = { cluster: null, neededSlot: null };
  if (databaseUrl() === undefined) return nothing;
  const read = withDatabase(async (ledger) => ({
    cluster: await ledger.cluster.get(),
    neededSlot: await ledger.blockHeaders.neededSlot(),
  }));
  return read.catch(() => nothing);
}

function nodeUrls(): readonly string[] {
  const urls = settings().rpcUrls ?? readDevFile().rpcUrls;
  if (urls === undefined) throw notSet('SLUICE_RPC_URLS');
  return urls;
}

function failureOf(survey: Survey): { readonly code: ErrorCode; readonly message: string } | null {
  const { genesisHash, record } = survey;
  if (genesisHash === null) return { code: 'NoHealthyNode', message: summary(survey) };
  if (record === null || record.genesisHash === genesisHash) return null;
  return { code: 'WrongCluster', message: belonging(survey) };
}

function belonging({ genesisHash, record }: Survey): string {
  if (record === null) return 'the database is bound to no cluster yet, or cannot be read';
  return record.genesisHash === genesisHash
    ? `the database is bound to it since ${record.boundAt.toISOString()}`
    : `the nodes belong to cluster ${genesisHash}, but the database to ${record.genesisHash}: no worker starts on it`;
}

function renderNodes(report: Survey): string {
  return [
    table('nodes', COLUMNS, report.nodes),
    ...report.warnings.map(({ message }) => `warning: ${message}`),
    summary(report),
    ...(report.genesisHash === null ? [] : [belonging(report)]),
  ].join('\n');
}

function summary({ nodes, quorum, genesisHash }: PoolReport): string {
  const joined = nodes.filter(({ membership }) => membership === 'joined').length;
  const cluster = genesisHash === null ? 'they show no common cluster' : `cluster ${genesisHash}`;
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
  demoted: ({ demoted }) => demoted?.reason ?? '',
};
