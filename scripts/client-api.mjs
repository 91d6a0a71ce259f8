// `node --import tsx scripts/client-api.mjs` writes src/client/api.ts: the types of the schemas in our OpenAPI document, and
// the query parameters and body of each operation, with their descriptions. With `--check` it fails where that file is not up to date.
import { readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { isDeepStrictEqual } from 'node:util';
import { buildApp } from '../src/http/app.ts';

const FILE = fileURLToPath(new URL('../src/client/api.ts', import.meta.url));
const HEAD = `// Generated from the OpenAPI document by scripts/client-api.mjs: edit the schemas in src/http.

`;
/** JSON Schema keywords that would change the type. No schema of this project may use them. */
const UNSUPPORTED = ['allOf', 'not', 'prefixItems', 'patternProperties', '$defs'];

/**
 * @typedef {{ $ref?: string, type?: string | string[], const?: unknown, enum?: unknown[], anyOf?: Schema[], oneOf?: Schema[],
 *   items?: Schema, properties?: Record<string, Schema>, required?: string[], additionalProperties?: boolean | Schema,
 *   description?: string, default?: unknown }} Schema
 * @typedef {{ in: string, name: string, required?: boolean, description?: string, schema: Schema }} Parameter
 * @typedef {{ operationId: string, parameters?: Parameter[],
 *   requestBody?: { content: { 'application/json': { schema: Schema } } } }} Operation
 */

/** @param {Schema} schema @param {string} indent @returns {string} */
function typeOf(schema, indent) {
  const unsupported = UNSUPPORTED.filter((keyword) => keyword in schema);
  if (unsupported.length > 0)
    throw new Error(`scripts/client-api.mjs does not support ${unsupported.join(', ')}`);
  const { $ref, type, const: only, enum: values, anyOf, oneOf, items } = schema;
  if ($ref !== undefined) return $ref.replace('#/components/schemas/', '');
  if (only !== undefined) return JSON.stringify(only);
  if (values !== undefined) return values.map((value) => JSON.stringify(value)).join(' | ');
  // `anyOf` beside `properties` only restricts the object.
  if (schema.properties !== undefined) return objectOf(schema, indent);
  const parts =
    anyOf ?? oneOf ?? (Array.isArray(type) ? type.map((each) => ({ ...schema, type: each })) : undefined);
  if (parts !== undefined) return parts.map((part) => typeOf(part, indent)).join(' | ');
  if (type === 'array') return `readonly ${inList(typeOf(items ?? {}, indent))}[]`;
  if (type === 'object') return objectOf(schema, indent);
  if (type === 'integer') return 'number';
  return type === undefined ? 'unknown' : String(type);
}

/** @param {Schema} schema @param {string} indent */
function objectOf({ properties = {}, required = [], additionalProperties = false }, indent) {
  const inner = `${indent}  `;
  const fields = Object.entries(properties).flatMap(([name, field]) => {
    const [mark, absent] = required.includes(name) ? ['', ''] : ['?', ' | undefined'];
    return [...comment(field, inner), `${inner}readonly ${name}${mark}: ${typeOf(field, inner)}${absent};`];
  });
  const others =
    typeof additionalProperties === 'object'
      ? [`${inner}readonly [field: string]: ${typeOf(additionalProperties, inner)};`]
      : [];
  return ['{', ...fields, ...others, `${indent}}`].join('\n');
}

/** @param {string} type */
const inList = (type) => (type.includes(' | ') ? `(${type})` : type);

/** @param {Schema} schema @param {string} indent @returns {string[]} */
function comment({ description, default: fallback }, indent) {
  const texts = [description, fallback === undefined ? undefined : `@default ${JSON.stringify(fallback)}`];
  const text = texts.filter((part) => part !== undefined).join(' ');
  return text === '' ? [] : [`${indent}/** ${text.replaceAll('*/', '*\\/')} */`];
}

/** Query parameters as fields of an object. A parameter of the texts true and false is a boolean. @param {Parameter[]} parameters @returns {Schema} */
function queryOf(parameters) {
  const fields = parameters.map(({ name, schema, description = schema.description }) => {
    const isBoolean = isDeepStrictEqual(schema.enum, ['true', 'false']);
    const typed = isBoolean ? { type: 'boolean' } : schema;
    return [name, description === undefined ? typed : { ...typed, description }];
  });
  const required = parameters.filter((parameter) => parameter.required).map(({ name }) => name);
  return { type: 'object', properties: Object.fromEntries(fields), required };
}

/** @param {Operation} operation @returns {readonly (readonly [string, Schema])[]} */
function queriesOf({ operationId, parameters = [] }) {
  const query = parameters.filter((parameter) => parameter.in === 'query');
  return query.length === 0 ? [] : [[operationId, queryOf(query)]];
}

/** @param {Operation} operation @returns {readonly (readonly [string, Schema])[]} */
function bodiesOf({ operationId, requestBody }) {
  const schema = requestBody?.content['application/json'].schema;
  return schema === undefined ? [] : [[operationId, schema]];
}

/** @param {string} name @param {readonly (readonly [string, Schema])[]} entries @param {string} description */
function tableOf(name, entries, description) {
  const properties = Object.fromEntries(entries);
  const required = Object.keys(properties);
  return `/** ${description} */\nexport interface ${name} ${typeOf({ type: 'object', properties, required }, '')}`;
}

/** Every schema of the document as an exported type. No route is called, so that the app needs no database. */
async function generated() {
  const explorer = { explorerUrl: 'http://localhost', cluster: 'devnet', rpcUrls: [] };
  const app = await buildApp(/** @type {never} */ ({ ledger: {}, temporal: {}, explorer }));
  const { components, paths } =
    /** @type {{ components: { schemas: Record<string, Schema> }, paths: Record<string, Record<string, Operation>> }} */ (
      /** @type {unknown} */ (app.swagger())
    );
  await app.close();
  const types = Object.entries(components.schemas).map(([name, schema]) => {
    const type = typeOf(schema, '');
    const declared =
      type.startsWith('{') && schema.type === 'object'
        ? `interface ${name} ${type}`
        : `type ${name} = ${type};`;
    return [...comment(schema, ''), `export ${declared}`].join('\n');
  });
  const operations = Object.values(paths).flatMap((path) => Object.values(path));
  const tables = [
    tableOf('Queries', operations.flatMap(queriesOf), 'Query parameters by operation id.'),
    tableOf('Bodies', operations.flatMap(bodiesOf), 'Request bodies by operation id.'),
  ];
  return `${HEAD}${[...types, ...tables].join('\n\n')}\n`;
}

const text = await generated();
if (!process.argv.includes('--check')) writeFileSync(FILE, text);
else if (readFileSync(FILE, 'utf8') !== text) {
  process.stderr.write('src/client/api.ts differs from the OpenAPI document: run npm run generate\n');
  process.exit(1);
}
