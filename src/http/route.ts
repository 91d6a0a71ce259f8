import type { FastifyInstance } from 'fastify';
import { z } from 'zod';
import type { Page, PageRequest } from '../ledger/page.ts';
import { nextCursor, pageQuery, problems } from './schemas.ts';

type OutputOf<Schema> = Schema extends z.ZodType ? z.output<Schema> : undefined;

interface Description {
  readonly operationId: string;
  readonly tags: readonly string[];
  readonly summary: string;
  readonly description?: string;
}

interface RouteDefinition<Result, Params, Query, Body> extends Description {
  readonly params?: Params;
  readonly querystring?: Query;
  readonly body?: Body;
  readonly bodyLimit?: number;
  readonly response: Result;
  /** `caller` is the name of the API key. */
  readonly handler: (request: {
    readonly params: OutputOf<Params>;
    readonly query: OutputOf<Query>;
    readonly body: OutputOf<Body>;
    readonly caller: string;
  }) => Promise<z.input<Result>> | z.input<Result>;
}

/**
 * Adds a route. The schema `response` drops all other fields of the handler's result and converts bigint and Date, so
 * that a handler can return database rows.
 */
export function route<
  Result extends z.ZodType,
  Params extends z.ZodType | undefined = undefined,
  Query extends z.ZodType | undefined = undefined,
  Body extends z.ZodType | undefined = undefined,
>(
  app: FastifyInstance,
  method: 'GET' | 'POST' | 'PUT' | 'DELETE',
  url: string,
  { response, bodyLimit, handler, ...schema }: RouteDefinition<Result, Params, Query, Body>,
): void {
  app.route({
    method,
    url,
    ...(bodyLimit === undefined ? {} : { bodyLimit }),
    schema: { ...schema, response: { 200: response, ...problems } },
    handler: async (request) => handler(request as unknown as Parameters<typeof handler>[0]),
  });
}

/** The schema of a page, with its items in the field `itemsField`. */
export function pageOf<Item extends z.ZodType>(id: string, itemsField: string, item: Item) {
  const items = z.array(item).readonly().describe('Items of the page, newest first');
  return z.object({ [itemsField]: items, nextCursor }).meta({ id });
}

interface ListDefinition<Item extends z.ZodType, Filter extends z.ZodRawShape> extends Description {
  /** Id of the schema of a page. */
  readonly pageId: string;
  /** Field of a page that has the items. */
  readonly itemsField: string;
  readonly item: Item;
  readonly filter: Filter;
  readonly find: (query: z.output<z.ZodObject<Filter>> & PageRequest) => Promise<Page<z.input<Item>>>;
}

/** Adds a GET route that returns a list in pages, newest first. */
export function listRoute<Item extends z.ZodType, Filter extends z.ZodRawShape>(
  app: FastifyInstance,
  url: string,
  { pageId, itemsField, item, filter, find, ...description }: ListDefinition<Item, Filter>,
): void {
  const querystring = z.strictObject({ ...filter, ...pageQuery });
  const response: z.ZodType = pageOf(pageId, itemsField, item);
  const handler = async ({ query }: { readonly query: unknown }) => {
    const { rows, nextCursor: next } = await find(query as Parameters<typeof find>[0]);
    return { [itemsField]: rows, nextCursor: next };
  };
  route(app, 'GET', url, { ...description, querystring, response, handler });
}
