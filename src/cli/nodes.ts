import type { Command } from '@commander-js/extra-typings';
import { type Config, ConfigError, readConfig } from '../platform/config.ts';
import type { NodeReport, PoolReport } from '../solana/rpc/report.ts';
import { inColumns } from './columns.ts';
import { notSet, readDevFile } from './dev-file.ts';
import { EXIT, UsageError } from './exit.ts';
import { JSON_OPTION, run } from './output.ts';

/** `sluice nodes`: the Solana nodes as a worker would see them now. Exit code 5 where no quorum of them serves. */
export function registerNodes(program: Command): void {
  program
    .command('nodes')
    .description('show the Solana nodes of SLUICE_RPC_URLS: version, lag, history, score, and what is wrong')
    .option(...JSON_OPTION)
    .action((options) =>
      run(options, async (output) => {
        const urls = nodeUrls();
        // Loaded here, so that the other commands start without a client of Solana nodes.
        const { surveyNodes } = await import('../solana/rpc/pool.ts');
        const report = await surveyNodes(urls);
        output.result(toJson(report), renderNodes(report));
        return report.genesisHash === null ? EXIT.unavailable : EXIT.ok;
      }),
    );
}

/** SLUICE_RPC_URLS, else the nodes of a running `npm run dev`. */
function nodeUrls(): readonly string[] {
  const urls = settings().rpcUrls ?? readDevFile().rpcUrls;
  if (urls === undefined) throw notSet('SLUICE_RPC_URLS');
  return urls;
}

function settings(): Config {
  try {
    return readConfig(process.env, 'tool');
  } catch (error) {
    throw error instanceof ConfigError ? new UsageError(error.message) : error;
  }
}

/** The report with slots as decimal strings, and the failure in it where the nodes make no pool. */
function toJson(report: PoolReport): object {
  const ok = report.genesisHash !== null;
  const failure = ok ? {} : { error: { code: 'NoHealthyNode', message: summary(report) } };
  const text = JSON.stringify({ ok, ...failure, ...report }, (_key, value: unknown) =>
    typeof value === 'bigint' ? value.toString() : value,
  );
  return JSON.parse(text) as object;
}

/** A line a node, in columns; then what is wrong; then whether it is enough. */
function renderNodes(report: PoolReport): string {
  return [
    ...inColumns([HEADINGS, ...report.nodes.map(cells)]),
    ...report.warnings.map(({ message }) => `warning: ${message}`),
    summary(report),
  ].join('\n');
}

function summary({ nodes, quorum, genesisHash }: PoolReport): string {
  const joined = nodes.filter(({ membership }) => membership === 'joined').length;
  const cluster = genesisHash === null ? 'they show no common cluster' : `cluster ${genesisHash}`;
  return `${joined} of ${nodes.length} nodes serve, ${quorum} must agree; ${cluster}`;
}

const HEADINGS = ['node', 'state', 'version', 'lag', 'first block', 'history', 'latency', 'score', 'demoted'];

function cells(report: NodeReport): string[] {
  const { latencyMs, lagSlots, firstAvailableBlock } = report;
  return [
    report.node,
    report.membership,
    report.version ?? '?',
    lagSlots === null ? '?' : String(lagSlots),
    firstAvailableBlock === null ? '?' : String(firstAvailableBlock),
    report.history === 'unknown' ? '?' : report.history,
    latencyMs === null ? '?' : `${Math.round(latencyMs)} ms`,
    String(report.score),
    report.demoted?.why ?? '',
  ];
}
