import { isDeepStrictEqual } from 'node:util';
import swagger from '@fastify/swagger';
import swaggerUi from '@fastify/swagger-ui';
import type { FastifyInstance } from 'fastify';
import { createJsonSchemaTransform, createJsonSchemaTransformObject } from 'fastify-type-provider-zod';
import { VERSION } from '../platform/version.ts';

/** zod marks a `readonly()` array as `readOnly`, which in a request means "do not send". */
const zodToJsonConfig = {
  override: ({ jsonSchema }: { jsonSchema: { readOnly?: boolean } }) => {
    delete jsonSchema.readOnly;
  },
};

const addSchemas = createJsonSchemaTransformObject({ zodToJsonConfig });

type Schemas = Readonly<Record<string, unknown>>;
type Document = ReturnType<typeof addSchemas> & { paths?: object; components?: { schemas?: Schemas } };

/** The names of all schemas that `part` references, directly or not. */
function referenced(part: unknown, schemas: Schemas, found = new Set<string>()): ReadonlySet<string> {
  for (const [, name = ''] of JSON.stringify(part).matchAll(/"#\/components\/schemas\/(\w+)"/g))
    if (!found.has(name)) referenced(schemas[name], schemas, found.add(name));
  return found;
}

/**
 * The library lists every schema twice: for responses, and with the suffix `Input` for requests. Keeps the referenced
 * schemas, each once and without the suffix.
 */
function withSchemasOnce(document: Document): Document {
  const schemas = document.components?.schemas ?? {};
  const kept: Record<string, unknown> = {};
  for (const name of [...referenced(document.paths, schemas)].sort()) {
    const id = name.replace(/Input$/, '');
    if (!isDeepStrictEqual((kept[id] ??= schemas[name]), schemas[name]))
      throw new Error(`the schema ${id} of requests differs from that of responses`);
  }
  const text = JSON.stringify({ ...document, components: { ...document.components, schemas: kept } });
  return JSON.parse(text.replaceAll(/("#\/components\/schemas\/\w+?)Input"/g, '$1"'));
}

/** The page loads nothing from other hosts, and sends requests only to this API. */
const PAGE_CSP = {
  'default-src': "'none'",
  'base-uri': "'none'",
  'connect-src': "'self'",
  'font-src': "'self' data:",
  'form-action': "'none'",
  'frame-ancestors': "'none'",
  'img-src': "'self' data:",
  'script-src': "'self'",
  'style-src': "'self'",
};

/** `GET /openapi.json`, generated from the schemas of the routes, and `GET /docs`, the API reference in the browser. */
export async function describeApi(app: FastifyInstance): Promise<void> {
  await app.register(swagger, {
    openapi: {
      openapi: '3.1.0',
      info: {
        title: 'Sluice',
        version: VERSION,
        description:
          'Deposits and withdrawals on Solana as durable workflows. Amounts are base units as decimal strings.',
      },
      components: { securitySchemes: { apiKey: { type: 'http', scheme: 'bearer' } } },
      security: [{ apiKey: [] }],
    },
    transform: createJsonSchemaTransform({ zodToJsonConfig }),
    transformObject: (source) => withSchemasOnce(addSchemas(source)),
  });
  app.get('/openapi.json', { schema: { hide: true } }, () => app.swagger());
  await app.register(swaggerUi, { routePrefix: '/docs', staticCSP: PAGE_CSP });
}
