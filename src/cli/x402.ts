import { existsSync } from 'node:fs';
import type { Command } from '@commander-js/extra-typings';
import type { UrlReport } from '../x402/check/check-url.ts';
import type { PricedRoute, Route, RoutePrice } from '../x402/routes/route.ts';
import { NETWORKS } from '../x402/terms.ts';
import { type Columns, localCommand, print, table } from './command.ts';
import { DEV_FILE, readDevFile, settings } from './dev-file.ts';
import { EXIT } from './exit.ts';
import { JSON_OPTION } from './output.ts';
import { checkUrlOf, isUrl, renderUrlReport, type UrlOptions } from './x402-check.ts';

const DEFAULT_FILE = 'x402.routes.json';

export function registerX402(program: Command, addTo: (x402: Command) => void): void {
  const x402 = program.command('x402').description('Check what the x402 gateway, or another seller, sells');
  localCommand(
    x402,
    'check',
    "Check a routes file and list its routes, or check a seller's URL as a buyer's client reads it; exit code 1 if it has a fault",
  )
    .argument(
      '[file|url]',
      `Routes file (default: SLUICE_X402_ROUTES, or ${DEFAULT_FILE}, or the file in ${DEV_FILE}), or a URL that answers 402`,
    )
    .option(
      '--rpc <url>',
      'For a URL: node that returns mints, token accounts and fee payers (default: SLUICE_RPC_URLS)',
    )
    .option('--method <method>', 'For a URL: method of the request', 'GET')
    .option(...JSON_OPTION)
    .action((target, options) => print(options, () => checkTarget(target, options), render, exitOf));
  localCommand(x402, 'schema', 'Print the JSON schema of a routes file').action((options) =>
    print(
      options,
      async () => (await import('../x402/routes/schema.ts')).routesJsonSchema(),
      (schema) => JSON.stringify(schema, null, 2),
    ),
  );
  addTo(x402);
}

type RoutesReport = Awaited<ReturnType<typeof checkFile>>;

function checkTarget(target: string | undefined, options: UrlOptions): Promise<RoutesReport | UrlReport> {
  return isUrl(target) ? checkUrlOf(target, options) : checkFile(target);
}

function render(report: RoutesReport | UrlReport): string {
  return 'url' in report ? renderUrlReport(report) : table('routes', COLUMNS, report.routes);
}

function exitOf(report: RoutesReport | UrlReport): number {
  return 'url' in report && !report.ok ? EXIT.failure : EXIT.ok;
}

async function checkFile(file: string | undefined) {
  const { readRoutesFile } = await import('../x402/routes/read-routes.ts');
  const { cluster, x402Routes, x402FacilitatorPath: facilitatorPath } = settings();
  const path = file ?? x402Routes ?? defaultFile();
  const routes = readRoutesFile(path, { network: NETWORKS[cluster], facilitatorPath });
  return { file: path, cluster, routes: routes.map(presentRoute) };
}

function defaultFile(): string {
  const { routesFile = DEFAULT_FILE } = readDevFile().sales ?? {};
  return existsSync(DEFAULT_FILE) ? DEFAULT_FILE : routesFile;
}

/** Values of headers can be secrets, so only their names are shown. */
function presentRoute({ answer, segments, upstreamHeaders, ...route }: Route) {
  const status = answer === null ? null : { status: answer.status };
  return {
    ...route,
    upstreamHeaders: Object.keys(upstreamHeaders),
    path: `/${segments.join('/')}`,
    answer: status,
  };
}

const COLUMNS: Columns<ReturnType<typeof presentRoute>> = {
  method: ({ method }) => method,
  path: ({ path }) => path,
  'price (base units)': (route) => (route.kind === 'free' ? 'free' : priceTextOf(route)),
  asset: (route) => listOf(route, ({ asset }) => asset),
  'pay to': (route) => listOf(route, ({ payTo }) => payTo),
  flow: (route) => (route.kind === 'free' ? '' : route.flow),
  'answered by': ({ upstream }) => upstream ?? 'static answer',
};

function priceTextOf({ prices, upstreamPrice }: Pick<PricedRoute, 'prices' | 'upstreamPrice'>): string {
  const amounts = prices.map(({ amount }) => amount.toString()).join(', ');
  return upstreamPrice === null ? amounts : `set by the upstream, at most ${amounts}`;
}

function listOf(route: ReturnType<typeof presentRoute>, textOf: (price: RoutePrice) => string): string {
  return route.kind === 'free' ? '' : [...new Set(route.prices.map(textOf))].join(', ');
}
