import type { Command } from '@commander-js/extra-typings';
import { ConfigError, readConfig } from '../platform/config.ts';
import { NETWORKS } from '../x402/networks.ts';
import type { Route } from '../x402/routes/route.ts';
import { inColumns } from './columns.ts';
import { EXIT, UsageError } from './exit.ts';
import { JSON_OPTION, run } from './output.ts';

const DEFAULT_FILE = 'x402.routes.json';

/** `sluice x402 routes`: checks the file of the routes that the gateway serves. */
export function registerX402(program: Command): void {
  const x402 = program.command('x402').description('commands for sellers of HTTP resources');
  x402
    .command('routes')
    .description('check a routes file and list its routes')
    .argument('[file]', `default: SLUICE_X402_ROUTES, or ${DEFAULT_FILE}`)
    .option('--schema', 'print the JSON schema of a routes file instead')
    .option(...JSON_OPTION)
    .action((file, options) =>
      run(options, async (output) => {
        if (options.schema === true) {
          const { routesJsonSchema } = await import('../x402/routes/schema.ts');
          const schema = routesJsonSchema();
          output.result(schema, JSON.stringify(schema, null, 2));
          return EXIT.ok;
        }
        const { readRoutesFile } = await import('../x402/routes/read-routes.ts');
        const { cluster, x402Routes, x402FacilitatorPath: facilitatorPath } = settings();
        const path = file ?? x402Routes ?? DEFAULT_FILE;
        const routes = readRoutesFile(path, { network: NETWORKS[cluster], facilitatorPath });
        output.result({ file: path, cluster, routes: routes.map(toJson) }, render(routes));
        return EXIT.ok;
      }),
    );
}

function settings() {
  try {
    return readConfig(process.env, 'tool');
  } catch (error) {
    throw error instanceof ConfigError ? new UsageError(error.message) : error;
  }
}

/** A route with amounts as decimal strings, and without the bytes of a static answer. */
function toJson(route: Route): object {
  const { answer, segments, ...rest } = route;
  const path = `/${segments.join('/')}`;
  const shown = { ...rest, path, answer: answer === null ? null : { status: answer.status } };
  if (route.kind === 'free') return shown;
  const { amount, finalizedAbove } = route;
  return { ...shown, amount: amount.toString(), finalizedAbove: finalizedAbove?.toString() ?? null };
}

function render(routes: readonly Route[]): string {
  const headings = ['method', 'path', 'price (base units)', 'asset', 'pay to', 'flow', 'answered by'];
  return inColumns([headings, ...routes.map(cells)]).join('\n');
}

function cells(route: Route): readonly string[] {
  const { method, segments, upstream } = route;
  const path = `/${segments.join('/')}`;
  const by = upstream ?? 'static answer';
  if (route.kind === 'free') return [method, path, 'free', '', '', '', by];
  return [method, path, route.amount.toString(), route.asset, route.payTo, route.flow, by];
}
