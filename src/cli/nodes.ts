import { readFileSync } from 'node:fs';
import type { Command } from '@commander-js/extra-typings';
import { z } from 'zod';
import { ConfigError, readConfig } from '../platform/config.ts';
import type { NodeReport, PoolReport } from '../solana/rpc/report.ts';
import { DEV_FILE } from './connection.ts';
import { EXIT, UsageError } from './exit.ts';
import { run } from './output.ts';

/** `sluice nodes`: the Solana nodes as a worker would see them now. Exit code 5 where no quorum of them serves. */
export function registerNodes(program: Command): void {
  program
    .command('nodes')
    .description('show the Solana nodes of SLUICE_RPC_URLS: version, lag, history, score, and what is wrong')
    .option('--json', 'one JSON object on stdout')
    .action((options) =>
      run(options.json ?? false, async (output) => {
        const urls = nodeUrls();
        // Loaded here, so that the other commands start without a client of Solana nodes.
        const { surveyNodes } = await import('../solana/rpc/pool.ts');
        const report = await surveyNodes(urls);
        output.result(toJson(report), renderNodes(report));
        return report.genesisHash === null ? EXIT.unavailable : EXIT.ok;
      }),
    );
}

const devFile = z.object({ rpcUrls: z.array(z.url()).min(1) });

/** SLUICE_RPC_URLS, else the nodes of a running `npm run dev`. */
function nodeUrls(): readonly string[] {
  try {
    const { rpcUrls } = readConfig(process.env, 'tool');
    return rpcUrls ?? devFile.parse(JSON.parse(readFileSync(DEV_FILE, 'utf8'))).rpcUrls;
  } catch (error) {
    if (error instanceof ConfigError) throw new UsageError(error.message);
    throw new UsageError(
      `set SLUICE_RPC_URLS, or start the stack with "npm run dev", which writes ${DEV_FILE}`,
    );
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

function inColumns(rows: readonly (readonly string[])[]): string[] {
  const widths = HEADINGS.map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)));
  return rows.map((row) =>
    row
      .map((cell, column) => cell.padEnd(widths[column] ?? 0))
      .join('  ')
      .trimEnd(),
  );
}
