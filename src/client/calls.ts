import type { Queries } from './api.ts';
import { type Call, queryOf, type Transport } from './transport.ts';
import type { CallOptions } from './waiting.ts';

const PAGE_SIZE = 100;

/** Base class of the calls of one part of the API. */
export class Calls {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  protected part<Part>(PartCalls: new (transport: Transport) => Part): Part {
    return new PartCalls(this.#transport);
  }

  protected read<Result>(path: string, options?: CallOptions): Promise<Result> {
    return this.#transport.call({ method: 'GET', path }, options);
  }

  protected send<Result>(
    method: Exclude<Call['method'], 'GET'>,
    path: string,
    body: unknown,
    options?: CallOptions,
  ): Promise<Result> {
    return this.#transport.call({ method, path, body }, options);
  }
}

export interface PageOptions extends CallOptions {
  /** Maximum number of items, 1 to 200. @default 100 */
  readonly limit?: number;
  /** `nextCursor` of the previous page; null or absent for the first page. */
  readonly cursor?: string | null;
}

/** The filter of a list: all conditions must match. */
export type FilterOf<Operation extends keyof Queries> = Omit<
  Queries[Operation],
  'after' | 'cursor' | 'limit'
>;

/** Makes options in the argument for the filter a type error. */
type NoOptions = { readonly [Option in keyof PageOptions]?: never };

/** A page of a list: the items in the field `Name`. */
export type ListPage<Name extends string, Item> = Readonly<Record<Name, readonly Item[]>> & {
  readonly nextCursor: string | null;
};

/** Base class of a part of the API with a list, newest first. `Name`: the field of a page that has the items. */
export abstract class ListCalls<Operation extends keyof Queries, Name extends string, Item> extends Calls {
  protected abstract readonly path: string;
  protected abstract readonly items: Name;

  /** All matching items, newest first. Fetches pages as they are read. */
  async *list(
    filter?: FilterOf<Operation> & NoOptions,
    options?: CallOptions,
  ): AsyncGenerator<Item, void, undefined> {
    let cursor: string | null = null;
    do {
      const page: ListPage<Name, Item> = await this.page(filter, { ...options, cursor });
      yield* page[this.items];
      cursor = page.nextCursor;
    } while (cursor !== null);
  }

  /** One page of at most `limit` (1-200) matching items, newest first. */
  page(
    filter?: FilterOf<Operation> & NoOptions,
    { limit = PAGE_SIZE, cursor, signal }: PageOptions = {},
  ): Promise<ListPage<Name, Item>> {
    return this.read(`${this.path}${queryOf({ limit, ...filter, cursor })}`, { signal });
  }
}
