import { z } from 'zod';
import { BAZAAR } from '../formats/bazaar.ts';
import { isObject, type JsonObject } from '../formats/json.ts';
import { hasOutsideReference, obeys } from '../routes/discovery.ts';
import type { FacilitatorRequest, Requirements } from './request.ts';

/** A resource that a paid request has declared by the extension `bazaar`. */
export interface DiscoveredResource {
  /** Absolute URL without query; a pattern such as `/users/:id` takes the place of its path. */
  readonly resource: string;
  readonly method: string;
  readonly item: JsonObject;
}

export type Discovered =
  | { readonly kind: 'resource'; readonly resource: DiscoveredResource }
  | { readonly kind: 'rejected'; readonly reason: string };

const MAX_ITEM_BYTES = 8_192;
const MAX_URL_CHARACTERS = 2_048;
const URL_RULE = `resource.url must be an http or https URL of at most ${MAX_URL_CHARACTERS} characters, without user or password`;
const TEMPLATE = /^\/[a-zA-Z0-9_/:.\-~%]+$/;
const MAX_DECODINGS = 5;

const Declaration = z.looseObject({
  info: z.looseObject({
    input: z.looseObject({
      type: z.literal('http'),
      method: z.enum(['GET', 'HEAD', 'DELETE', 'POST', 'PUT', 'PATCH']),
      bodyType: z.enum(['json', 'form-data', 'text']).optional(),
    }),
    output: z.looseObject({ type: z.string() }).optional(),
  }),
  schema: z.looseObject({ properties: z.looseObject({ input: z.looseObject({}) }) }),
});
const text = z.string().max(1_000).optional().catch(undefined);
const Resource = z.looseObject({
  url: z.string().max(MAX_URL_CHARACTERS),
  description: text,
  mimeType: text,
});

/**
 * The resource of a paid request, for the list of the facilitator. Null if the request has no extension `bazaar`. The
 * buyer's client wrote the extension, so each part is checked. Source: x402 specification, extension `bazaar`.
 */
export function discoveredResource({
  dialect,
  payload,
  requirements,
}: FacilitatorRequest): Discovered | null {
  const extensions = payload['extensions'];
  const declared = dialect === 'v2' && isObject(extensions) ? extensions[BAZAAR] : undefined;
  if (declared === undefined) return null;
  const rejected = (reason: string): Discovered => ({ kind: 'rejected', reason });
  const declaration = Declaration.safeParse(declared);
  if (!declaration.success) return rejected('info must describe an HTTP resource, and schema its info');
  const { info, schema } = declaration.data;
  if (hasOutsideReference(schema) || !obeys(schema, info)) return rejected('info does not obey the schema');
  const resource = Resource.safeParse(payload['resource']);
  const template = isObject(declared) ? declared['routeTemplate'] : undefined;
  const url = resource.success ? catalogUrl(resource.data.url, template) : null;
  if (!resource.success || url === null) return rejected(URL_RULE);
  const { description, mimeType } = resource.data;
  const routeTemplate = isTemplate(template) ? { routeTemplate: template } : {};
  const item = {
    accepts: [acceptedOf(requirements)],
    ...(description === undefined ? {} : { description }),
    ...(mimeType === undefined ? {} : { mimeType }),
    extensions: { [BAZAAR]: { info, schema, ...routeTemplate } },
  };
  if (Buffer.byteLength(JSON.stringify(item)) > MAX_ITEM_BYTES)
    return rejected(`the declaration has more than ${MAX_ITEM_BYTES} bytes`);
  return { kind: 'resource', resource: { resource: url, method: info.input.method, item } };
}

function acceptedOf({
  scheme,
  network,
  asset,
  amount,
  payTo,
  maxTimeoutSeconds,
  extra,
}: Requirements): JsonObject {
  return { scheme, network, asset, amount, payTo, maxTimeoutSeconds, extra };
}

function catalogUrl(url: string, template: unknown): string | null {
  if (!URL.canParse(url)) return null;
  const { protocol, username, password, origin, pathname } = new URL(url);
  if (!/^https?:$/.test(protocol) || username !== '' || password !== '') return null;
  return origin + (isTemplate(template) ? template : pathname);
}

/** A pattern with parts such as `:id`. Source: x402 specification, extension `bazaar`: routeTemplate Validation Rules. */
function isTemplate(value: unknown): value is string {
  if (typeof value !== 'string' || value.length > MAX_URL_CHARACTERS || !TEMPLATE.test(value)) return false;
  let decoded = value;
  try {
    for (let round = 0; round < MAX_DECODINGS; round += 1) decoded = decodeURIComponent(decoded);
  } catch {
    return false;
  }
  return !decoded.includes('..') && !decoded.includes('://');
}
