import { z } from 'zod';
import type { FacilitatorKey } from '../../ledger/operations/api-keys.ts';
import type { Catalog } from '../../ledger/x402/catalog.ts';
import { TtlCache } from '../../solana/rpc/ttl-cache.ts';
import { at, isObject, type JsonObject } from '../formats/json.ts';
import { type Discovered, discoveredResource } from './discovered.ts';
import type { FacilitatorRequest } from './request.ts';

/** An entry of the list of resources. Source: x402 specification, version 2: Discovery API; `@x402/extensions`. */
export interface DiscoveryItem extends JsonObject {
  readonly resource: string;
  readonly type: 'http';
  readonly x402Version: 2;
  readonly accepts: readonly unknown[];
  /** ISO 8601. */
  readonly lastUpdated: string;
}

export interface DiscoveryDeps {
  readonly catalog: Pick<Catalog, 'put' | 'list'>;
  /** The routes of the gateway of this process. */
  readonly ownItems: () => readonly DiscoveryItem[];
  /** Public URL of that gateway: no caller may list a resource there. */
  readonly publicUrl: string;
  readonly warn: (error: unknown, message: string) => void;
}

const LISTED_DAYS = 30;
const MAX_ENTRIES = 500;
const LIST_CACHE_MS = 10_000;
/** A resource that is paid often is stored this often. */
const STORED_FOR_MS = 600_000;
const MAX_STORED_KEYS = 10_000;

const filter = z.string().max(1_000).optional();
export const DiscoveryQuery = z.object({
  type: filter,
  payTo: filter,
  scheme: filter,
  network: filter,
  extensions: filter,
  limit: z.coerce.number().int().min(1).max(100).default(20),
  offset: z.coerce.number().int().min(0).default(0),
});

/** The list of resources: the routes of the gateway, and what callers with a key have sold within 30 days. */
export class ResourceList {
  readonly #deps: DiscoveryDeps;
  readonly #listed = new TtlCache<readonly DiscoveryItem[]>(LIST_CACHE_MS, 1);
  readonly #stored = new TtlCache<void>(STORED_FOR_MS, MAX_STORED_KEYS);

  constructor(deps: DiscoveryDeps) {
    this.#deps = deps;
  }

  async page({ limit, offset, ...query }: z.output<typeof DiscoveryQuery>): Promise<JsonObject> {
    const items = [...this.#deps.ownItems(), ...(await this.#listed.get('', () => this.#list()))];
    const found = items.filter((item) => matches(item, query));
    const pagination = { limit, offset, total: found.length };
    return { x402Version: 2, items: found.slice(offset, offset + limit), pagination };
  }

  async #list(): Promise<readonly DiscoveryItem[]> {
    const entries = await this.#deps.catalog.list(LISTED_DAYS, MAX_ENTRIES);
    return entries.map(({ resource, method, item, updatedAt }) => ({
      resource,
      type: 'http',
      x402Version: 2,
      accepts: [],
      ...item,
      lastUpdated: updatedAt.toISOString(),
      metadata: { method },
    }));
  }

  /**
   * Stores the resource of a settled request, without waiting. Returns the header EXTENSION-RESPONSES; null if the request
   * declares no resource.
   */
  note(request: FacilitatorRequest, { name }: FacilitatorKey): string | null {
    const discovered = discoveredResource(request);
    if (discovered === null) return null;
    const refusal = this.#refusalOf(discovered, name);
    const bazaar =
      refusal === null ? { status: 'processing' } : { status: 'rejected', rejectedReason: refusal };
    if (refusal === null && discovered.kind === 'resource') this.#store(name, discovered.resource);
    return Buffer.from(JSON.stringify({ bazaar })).toString('base64');
  }

  #refusalOf(discovered: Discovered, keyName: string): string | null {
    if (discovered.kind === 'rejected') return discovered.reason;
    if (keyName === '') return 'this facilitator lists only resources of callers with a key';
    const isOwn = new URL(discovered.resource.resource).origin === new URL(this.#deps.publicUrl).origin;
    return isOwn ? 'resource.url is at the URL of this gateway' : null;
  }

  #store(keyName: string, resource: Parameters<Catalog['put']>[1]): void {
    const { catalog, warn } = this.#deps;
    const key = JSON.stringify([keyName, resource]);
    this.#stored
      .get(key, () => catalog.put(keyName, resource))
      .catch((error: unknown) =>
        warn(error, `the resource ${resource.resource} was not stored for the list`),
      );
  }
}

function matches(
  item: DiscoveryItem,
  { type, extensions, ...accepted }: Omit<z.output<typeof DiscoveryQuery>, 'limit' | 'offset'>,
): boolean {
  const names = Object.keys(isObject(item['extensions']) ? item['extensions'] : {});
  if (type !== undefined && type !== item.type) return false;
  if (extensions !== undefined && !names.includes(extensions)) return false;
  const wanted = Object.entries(accepted).filter(([, value]) => value !== undefined);
  return item.accepts.some((one) => wanted.every(([key, value]) => at(one, key) === value));
}
