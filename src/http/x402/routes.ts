import type { FastifyInstance } from 'fastify';
import { z } from 'zod';
import { DomainError } from '../../domain/errors.ts';
import type { Ledger } from '../../ledger/ledger.ts';
import type { RoutesVersionWithContent, RouteVersions } from '../../ledger/x402/route-versions.ts';
import { listRoute, route } from '../route.ts';
import { position, reason, text, time, u64 } from '../schemas.ts';

export interface RoutesDeps {
  readonly ledger: Ledger;
  /**
   * Throws InvalidRequest, with every fault, unless it is the content of a routes file.
   * @default every content is refused
   */
  readonly checkRoutes?: (content: object) => void;
}

const tags = ['payments'];
const MAX_BODY_BYTES = 1024 * 1024;

const versionFields = {
  version: u64.describe('Number of the version; the next version has the next number'),
  source: z
    .enum(['file', 'api'])
    .describe('`file`: a gateway read the routes file at its start or after SIGHUP. `api`: a request'),
  actor: text('Name of the API key; `gateway` if the source is a file'),
  reason: text('Reason for the change'),
  createdAt: time.describe('Time at which the version was stored'),
};

const VersionBody = z.object(versionFields).meta({ id: 'RoutesVersion' });

const content = z.record(z.string(), z.unknown());

const RoutesBody = z
  .object({
    ...versionFields,
    routes: content.describe(
      'Content of a routes file. A header value that is not the name of an environment variable is `{"hidden": true}`',
    ),
  })
  .meta({ id: 'StoredRoutes' });

const PutBody = z.strictObject({
  expectedVersion: position.describe('Newest version that you have read; `0` if there is none'),
  reason,
  routes: content.describe('Content of a routes file: see `sluice x402 schema`'),
});

export function x402RoutesRoutes(
  app: FastifyInstance,
  { ledger, checkRoutes = refuseRoutes }: RoutesDeps,
): void {
  const { routeVersions } = ledger;
  route(app, 'GET', '/v1/x402/routes', {
    operationId: 'getRoutes',
    tags,
    summary: 'Get the routes of the x402 gateways',
    querystring: z.strictObject({
      version: position.optional().describe('Number of a version. Default: the newest one, which is sold'),
    }),
    response: RoutesBody,
    handler: async ({ query: { version } }) => present(await routeVersions.get(version ?? null)),
  });
  route(app, 'PUT', '/v1/x402/routes', {
    operationId: 'putRoutes',
    tags,
    summary: 'Replace the routes of the x402 gateways',
    description:
      'Every gateway sells the new version within seconds. Terms that were offered before stay valid for an hour. The response is 400 with all faults if the routes are not valid, and 409 `VersionConflict` if `expectedVersion` is not the newest version. A repeated request keeps the version that the first one stored.',
    bodyLimit: MAX_BODY_BYTES,
    body: PutBody,
    response: VersionBody,
    handler: async ({ caller: actor, body: { expectedVersion: expected, reason: why, routes } }) => {
      checkRoutes(routes);
      const stored = await routeVersions.publish({
        kind: 'put',
        expected,
        content: routes,
        actor,
        reason: why,
      });
      return { ...stored, version: stored.position };
    },
  });
  listVersionsRoute(app, routeVersions);
}

function listVersionsRoute(app: FastifyInstance, routeVersions: RouteVersions): void {
  listRoute(app, '/v1/x402/routes/versions', {
    operationId: 'listRoutesVersions',
    tags,
    summary: 'List the versions of the routes, newest first',
    pageId: 'RoutesVersionPage',
    itemsField: 'versions',
    item: VersionBody,
    filter: {},
    find: async (page) => {
      const { rows, nextCursor } = await routeVersions.list(page);
      return { rows: rows.map((row) => ({ ...row, version: row.position })), nextCursor };
    },
  });
}

function refuseRoutes(): never {
  throw new DomainError('InvalidRequest', 'this API does not accept routes');
}

function present({ content: stored, ...row }: RoutesVersionWithContent) {
  return { ...row, version: row.position, routes: withHiddenHeaders(stored) };
}

/** Texts of headers can be secrets. A routes file must not have what takes their place, so it is never put back. */
function withHiddenHeaders(routesFile: object): Record<string, unknown> {
  const hide = (key: string, value: unknown): unknown =>
    key === 'upstreamHeaders' && typeof value === 'object' && value !== null
      ? Object.fromEntries(
          Object.entries(value).map(([name, header]) => [
            name,
            typeof header === 'string' ? { hidden: true } : header,
          ]),
        )
      : value;
  return JSON.parse(JSON.stringify(routesFile, hide)) as Record<string, unknown>;
}
