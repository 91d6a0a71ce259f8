import type { Command } from '@commander-js/extra-typings';
import type { RoutesVersion } from '../client/client.ts';
import { apiCommand, type Columns, call, list, REASON_OPTION, show, withPageOptions } from './command.ts';

export function registerRoutes(program: Command): void {
  const routes = program
    .command('routes')
    .description('Show and replace the routes that the x402 gateways sell');
  apiCommand(routes, 'show', 'Print the routes of the newest version, as the JSON of a routes file')
    .option('--routes-version <number>', 'Print this version instead')
    .action(({ routesVersion, ...options }) =>
      call(
        options,
        (sluice) => sluice.routes.get(routesVersion),
        (version) => JSON.stringify(version.routes, null, 2),
      ),
    );
  withPageOptions(apiCommand(routes, 'versions', 'List the versions of the routes, newest first')).action(
    (options) => list(options, 'versions', VERSION_COLUMNS, (sluice, page) => sluice.routes.page({}, page)),
  );
  apiCommand(routes, 'put', 'Replace the routes; every gateway sells them within seconds')
    .argument('<file>', 'Routes file')
    .requiredOption(...REASON_OPTION)
    .option('--expected-version <number>', 'Fail unless this is the newest version (default: any)')
    .action((file, { reason, expectedVersion, ...options }) =>
      show(options, 'versions', VERSION_COLUMNS, async (sluice) => {
        const { readContent } = await import('../x402/routes/read-routes.ts');
        const content = readContent(file);
        const {
          versions: [newest],
        } = await sluice.routes.page({}, { limit: 1 });
        return sluice.routes.put(content, expectedVersion ?? newest?.version ?? '0', reason);
      }),
    );
}

const VERSION_COLUMNS: Columns<RoutesVersion> = {
  version: ({ version }) => version,
  stored: ({ createdAt }) => createdAt,
  source: ({ source }) => source,
  by: ({ actor }) => actor,
  reason: ({ reason }) => reason,
};
