import type { Command } from '@commander-js/extra-typings';
import type { Route } from '../x402/routes/route.ts';
import { NETWORKS } from '../x402/terms.ts';
import { inColumns } from './columns.ts';
import { localCommand } from './command.ts';
import { settings } from './dev-file.ts';
import { EXIT } from './exit.ts';
import { run } from './output.ts';

const DEFAULT_FILE = 'x402.routes.json';

export function registerX402(program: Command, addTo: (x402: Command) => void): void {
  const x402 = program.command('x402').description('Check the routes of the x402 gateway');
  localCommand(x402, 'check', 'Check a routes file and list its routes')
    .argument('[file]', `Routes file (default: SLUICE_X402_ROUTES, or ${DEFAULT_FILE})`)
    .action((file, options) =>
      run(options, async (output) => {
        const { readRoutesFile } = await import('../x402/routes/read-routes.ts');
        const { cluster, x402Routes, x402FacilitatorPath: facilitatorPath } = settings();
        const path = file ?? x402Routes ?? DEFAULT_FILE;
        const routes = readRoutesFile(path, { network: NETWORKS[cluster], facilitatorPath });
        output.result({ file: path, cluster, routes: routes.map(toJson) }, render(routes));
        return EXIT.ok;
      }),
    );
  localCommand(x402, 'schema', 'Print the JSON schema of a routes file').action((options) =>
    run(options, async (output) => {
      const { routesJsonSchema } = await import('../x402/routes/schema.ts');
      const schema = routesJsonSchema();
      output.result(schema, JSON.stringify(schema, null, 2));
      return EXIT.ok;
    }),
  );
  addTo(x402);
}

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
