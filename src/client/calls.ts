import type { PageOptions } from './pages.ts';
import { type Call, queryOf, type Transport } from './transport.ts';
import type { CallOptions } from './waiting.ts';

const PAGE_SIZE = 100;

/** The calls of one part of the API. */
export class Calls {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  protected read<Result>(path: string, options?: CallOptions): Promise<Result> {
    return this.#transport.call({ method: 'GET', path }, options);
  }

  protected readPage<Page>(
    path: string,
    filter: Readonly<Record<string, string | boolean | undefined>>,
    { limit = PAGE_SIZE, cursor, signal }: PageOptions = {},
  ): Promise<Page> {
    return this.read(`${path}${queryOf({ limit, ...filter, cursor })}`, { signal });
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
