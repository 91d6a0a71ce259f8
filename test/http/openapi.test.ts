import { afterAll, beforeAll, expect, test } from 'vitest';
import { openService, type Service } from './service.ts';

interface Schema {
  readonly $ref?: string;
  readonly description?: string;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly items?: Schema;
  readonly anyOf?: readonly Schema[];
  readonly oneOf?: readonly Schema[];
  readonly allOf?: readonly Schema[];
}

let service: Service;
beforeAll(async () => {
  service = await openService();
});
afterAll(() => service?.close());

type Named = Readonly<Record<string, Schema>>;

/** The names of all fields of a body, at any depth, that have no description, neither of their own nor of the schema that they name. */
function undescribed(schema: Schema, name: string, named: Named): readonly string[] {
  const parts = [...(schema.anyOf ?? []), ...(schema.oneOf ?? []), ...(schema.allOf ?? [])];
  const others = [...parts, ...(schema.items === undefined ? [] : [schema.items])];
  const fields = Object.entries(schema.properties ?? {}).flatMap(([field, value]) => [
    ...(isDescribed(value, named) ? [] : [`${name}.${field}`]),
    ...undescribed(value, `${name}.${field}`, named),
  ]);
  return [...new Set([...fields, ...others.flatMap((part) => undescribed(part, name, named))])];
}

function isDescribed({ description, $ref }: Schema, named: Named): boolean {
  return (description ?? named[$ref?.split('/').at(-1) ?? '']?.description) !== undefined;
}

interface OpenApiDocument {
  readonly components: { readonly schemas: Named };
  readonly paths: unknown;
}

/** Every schema of a body in the document, by its place. */
function bodiesOf({ components, paths }: OpenApiDocument): readonly (readonly [string, Schema])[] {
  const inline: (readonly [string, Schema])[] = [];
  const walk = (node: unknown, at: string): void => {
    if (typeof node !== 'object' || node === null) return;
    for (const [key, value] of Object.entries(node))
      if (key === 'schema') inline.push([at, value as Schema]);
      else walk(value, `${at} ${key}`);
  };
  walk(paths, '');
  return [...Object.entries(components.schemas), ...inline];
}

test('every field of every request and response body has a description', async () => {
  const document: OpenApiDocument = (await service.app.inject({ url: '/openapi.json' })).json();
  const bodies = bodiesOf(document);
  expect(bodies.length).toBeGreaterThan(40);
  const { schemas } = document.components;
  expect(bodies.flatMap(([name, schema]) => undescribed(schema, name, schemas))).toEqual([]);
});
