import { isDeepStrictEqual } from 'node:util';
import swagger from '@fastify/swagger';
import swaggerUi from '@fastify/swagger-ui';
import type { FastifyInstance } from 'fastify';
import { createJsonSchemaTransform, createJsonSchemaTransformObject } from 'fastify-type-provider-zod';
import { VERSION } from '../platform/version.ts';

/** Removes `readOnly`, which zod adds to a `readonly()` array: in a request it would mean "do not send". */
const zodToJsonConfig = {
  override: ({ jsonSchema }: { jsonSchema: { readOnly?: boolean } }) => {
    delete jsonSchema.readOnly;
  },
};

const addSchemas = createJsonSchemaTransformObject({ zodToJsonConfig });

type Schemas = Readonly<Record<string, unknown>>;
type Document = ReturnType<typeof addSchemas> & { paths?: object; components?: { schemas?: Schemas } };

/** The names of all schemas that `part` references, directly or through other schemas. */
function referencedNames(part: unknown, schemas: Schemas, found = new Set<string>()): ReadonlySet<string> {
  for (const [, name = ''] of JSON.stringify(part).matchAll(/"#\/components\/schemas\/(\w+)"/g))
    if (!found.has(name)) referencedNames(schemas[name], schemas, found.add(name));
  return found;
}

/**
 * Returns the document with each referenced schema once. `fastify-type-provider-zod` lists every schema twice: for
 * responses, and with the suffix `Input` for requests.
 */
function withUniqueSchemas(document: Document): Document {
  const schemas = document.components?.schemas ?? {};
  const unique: Record<string, unknown> = {};
  for (const name of [...referencedNames(document.paths, schemas)].sort()) {
    const id = name.replace(/Input$/, '');
    if (!isDeepStrictEqual((unique[id] ??= schemas[name]), schemas[name]))
      throw new Error(`the schema ${id} differs between requests and responses`);
  }
  const text = JSON.stringify({ ...document, components: { ...document.components, schemas: unique } });
  return JSON.parse(text.replaceAll(/("#\/components\/schemas\/\w+?)Input"/g, '$1"'));
}

/** Content security policy of the API reference: the page loads nothing from other hosts and calls only this API. */
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
    transformObject: (source) => withUniqueSchemas(addSchemas(source)),
  });
  app.get('/openapi.json', { schema: { hide: true } }, () => app.swagger());
  await app.register(swaggerUi, { routePrefix: '/docs', staticCSP: PAGE_CSP });
}
