import { isDeepStrictEqual } from 'node:util';
import { z } from 'zod';
import { at, isObject, type JsonObject } from '../formats/json.ts';
import type { Method } from './route.ts';

/** Keeps the headers of a 402 and of its payment below the 8 KB that many servers accept. */
const MAX_DISCOVERY_BYTES = 2_048;
const BODY_METHODS: readonly Method[] = ['POST', 'PUT', 'PATCH'];

const jsonSchema = z.record(z.string(), z.json()).describe('JSON Schema (draft 2020-12)');
const example = z.json().describe('An example that obeys the schema');

/** The key `discovery` of a priced route. */
export const discovery = z
  .strictObject({
    input: z
      .strictObject({
        bodyType: z
          .enum(['json', 'form-data', 'text'])
          .optional()
          .describe('Type of the body of POST, PUT and PATCH. Default: json'),
        schema: jsonSchema.optional(),
        example: example.optional(),
      })
      .optional()
      .describe('Query parameters of GET and DELETE; the body of POST, PUT and PATCH'),
    output: z
      .strictObject({ schema: jsonSchema.optional(), example: example.optional() })
      .optional()
      .describe('Response of the upstream'),
  })
  .refine(
    (value) => Buffer.byteLength(JSON.stringify(value)) <= MAX_DISCOVERY_BYTES,
    `must have at most ${MAX_DISCOVERY_BYTES} bytes of JSON`,
  )
  .describe(
    'Lists the route for buyers: the 402 describes input and output (extension bazaar), and the facilitator lists the route',
  );
export type RouteDiscovery = z.output<typeof discovery>;

export function hasBody(method: Method): boolean {
  return BODY_METHODS.includes(method);
}

/** Faults of the key, each with its place in it. */
export function faultsOfDiscovery(
  { input = {}, output = {} }: RouteDiscovery,
  methods: readonly Method[],
): readonly string[] {
  const faults: string[] = [];
  const bodies = methods.filter(hasBody).length;
  if (bodies > 0 && bodies < methods.length && Object.keys(input).length > 0)
    faults.push('.input: must be set in a route whose methods all have a body, or all have none');
  if (bodies === 0 && input.bodyType !== undefined)
    faults.push('.input.bodyType: must not be set, because the method has no body');
  if (bodies === 0 && input.example !== undefined && !isObject(input.example))
    faults.push('.input.example: must be an object of query parameters');
  if (input.schema !== undefined && input.example === undefined)
    faults.push('.input.example: must be set beside the schema');
  for (const [name, { schema = {}, example: shown }] of Object.entries({ input, output })) {
    if (hasOutsideReference(schema))
      faults.push(`.${name}.schema: must have no $ref or $id outside of the schema`);
    else if (shown !== undefined && !obeys(schema, shown))
      faults.push(`.${name}.example: does not obey the schema`);
  }
  return faults;
}

/** True if a part of the schema refers to another document. */
export function hasOutsideReference(node: unknown): boolean {
  if (Array.isArray(node)) return node.some(hasOutsideReference);
  if (!isObject(node)) return false;
  return Object.entries(node).some(
    ([key, value]) =>
      ((key === '$ref' || key === '$id') && !(typeof value === 'string' && value.startsWith('#'))) ||
      hasOutsideReference(value),
  );
}

/**
 * False if the value breaks one of the keywords type, const, enum, properties, required, additionalProperties or items,
 * which describe the extension `bazaar`. Other keywords are not checked: a regular expression of a caller could take
 * unlimited time.
 */
export function obeys(schema: unknown, value: unknown): boolean {
  if (schema === false) return false;
  if (!isObject(schema)) return true;
  const { type, enum: values } = schema;
  const types = Array.isArray(type) ? type : [type];
  if (type !== undefined && !types.some((one) => isOfType(value, one))) return false;
  if (Object.hasOwn(schema, 'const') && !isDeepStrictEqual(value, schema['const'])) return false;
  if (Array.isArray(values) && !values.some((one) => isDeepStrictEqual(value, one))) return false;
  if (Array.isArray(value)) return value.every((one) => obeys(schema['items'], one));
  return !isObject(value) || hasProperties(schema, value);
}

function hasProperties(schema: JsonObject, value: JsonObject): boolean {
  const { properties = {}, required = [], additionalProperties } = schema;
  if (Array.isArray(required) && required.some((key) => !Object.hasOwn(value, String(key)))) return false;
  return Object.entries(value).every(([key, field]) =>
    obeys(
      isObject(properties) && Object.hasOwn(properties, key) ? at(properties, key) : additionalProperties,
      field,
    ),
  );
}

function isOfType(value: unknown, type: unknown): boolean {
  if (type === 'integer') return Number.isInteger(value);
  if (type === 'array') return Array.isArray(value);
  if (type === 'null') return value === null;
  return type === 'object' ? isObject(value) : typeof value === type;
}
