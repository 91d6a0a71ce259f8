import { hasBody, type RouteDiscovery } from '../routes/discovery.ts';
import type { PricedRoute } from '../routes/route.ts';
import type { JsonObject } from './json.ts';

/** Name of the extension. Source: x402 specification, extension `bazaar`. */
export const BAZAAR = 'bazaar';

/**
 * The extension `bazaar` of a route. `prefix`: path of the gateway's public URL. `path`: that of the request; null in a
 * list of routes.
 */
export function bazaarExtension(
  route: Pick<PricedRoute, 'method' | 'segments' | 'mimeType'> & { readonly discovery: RouteDiscovery },
  prefix: string,
  path: string | null,
): JsonObject {
  const template = routeTemplate(route.segments);
  const pathParams = template === null || path === null ? null : pathParamsOf(route.segments, path);
  const { info: input, properties, required } = inputOf(route);
  const output = outputOf(route);
  return {
    info: {
      input: { type: 'http', method: route.method, ...input, ...(pathParams === null ? {} : { pathParams }) },
      ...(output === null ? {} : { output: output.info }),
    },
    schema: {
      $schema: 'https://json-schema.org/draft/2020-12/schema',
      type: 'object',
      properties: {
        input: {
          type: 'object',
          properties: {
            type: { type: 'string', const: 'http' },
            method: { type: 'string', enum: [route.method] },
            ...properties,
            ...(template === null ? {} : { pathParams: { type: 'object' } }),
          },
          required: ['type', 'method', ...required],
          additionalProperties: false,
        },
        ...(output === null ? {} : { output: output.schema }),
      },
      required: ['input'],
    },
    ...(template === null ? {} : { routeTemplate: prefix + template }),
  };
}

function inputOf({
  method,
  discovery,
}: {
  readonly method: PricedRoute['method'];
  readonly discovery: RouteDiscovery;
}) {
  const { bodyType = 'json', schema, example } = discovery.input ?? {};
  if (!hasBody(method))
    return {
      info: { queryParams: example ?? {} },
      properties: { queryParams: { type: 'object', ...schema } },
      required: [],
    };
  return {
    info: { bodyType, body: example ?? {} },
    properties: {
      bodyType: { type: 'string', enum: ['json', 'form-data', 'text'] },
      body: schema ?? {},
    },
    required: ['bodyType', 'body'],
  };
}

function outputOf({
  discovery,
  mimeType,
}: {
  readonly discovery: RouteDiscovery;
  readonly mimeType: string;
}) {
  if (discovery.output === undefined) return null;
  const { schema = {}, example } = discovery.output;
  return {
    info: {
      type: mimeType.includes('json') ? 'json' : 'text',
      ...(example === undefined ? {} : { example }),
    },
    schema: { type: 'object', properties: { type: { type: 'string' }, example: schema }, required: ['type'] },
  };
}

/** The pattern with names for all its variable parts; null for a fixed path, and for `/*`. */
export function routeTemplate(segments: readonly string[]): string | null {
  const names = segments.map((segment) => (segment === '*' ? ':var1' : segment));
  const isFixed = !names.some((name) => name.startsWith(':'));
  return isFixed || segments[0] === '*' ? null : `/${names.join('/')}`;
}

function pathParamsOf(segments: readonly string[], path: string): JsonObject {
  const values = path.slice(1).split('/');
  const params = segments.flatMap((segment, index): readonly (readonly [string, string])[] => {
    if (segment === '*') return [['var1', values.slice(index).join('/')]];
    return segment.startsWith(':') ? [[segment.slice(1), values[index] ?? '']] : [];
  });
  return Object.fromEntries(params);
}
