import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import type { PlannedPurchase } from './plan.ts';

/** One request that the upstream received. */
export interface ItemRequest {
  /** The item of the query, or the whole target where it names none. */
  readonly item: string;
  readonly paymentId: string | null;
  readonly idempotencyKey: string | null;
  readonly status: 200 | 503;
}

/** The server whose items the gateway sells: it records every request, and refuses or delays some of them. */
export class Upstream {
  readonly requests: ItemRequest[] = [];
  readonly #purchases: readonly PlannedPurchase[];
  readonly #refused = new Map<string, number>();
  readonly #server: Server;

  private constructor(purchases: readonly PlannedPurchase[]) {
    this.#purchases = purchases;
    this.#server = createServer((request, response) => void this.#answer(request, response));
  }

  static async open(purchases: readonly PlannedPurchase[]): Promise<Upstream> {
    const upstream = new Upstream(purchases);
    await new Promise<void>((resolve) => upstream.#server.listen(0, '127.0.0.1', resolve));
    // Otherwise the server would keep the process running if the stack cannot start.
    upstream.#server.unref();
    return upstream;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  async #answer({ url = '', headers }: IncomingMessage, response: ServerResponse): Promise<void> {
    const item = new URL(url, 'http://upstream').searchParams.get('n') ?? url;
    const { refusals = 0, slowMs = 0 } = this.#purchases[Number(item)] ?? {};
    const refused = this.#refused.get(item) ?? 0;
    const status = refused < refusals ? 503 : 200;
    if (status === 503) this.#refused.set(item, refused + 1);
    const paymentId = textOf(headers['x-sluice-payment']);
    const idempotencyKey = textOf(headers['idempotency-key']);
    this.requests.push({ item, paymentId, idempotencyKey, status });
    await sleep(slowMs);
    response.writeHead(status, { 'content-type': 'text/plain' });
    response.end(status === 200 ? contentOf(item) : 'busy');
  }
}

/** What an item is: no other answer of the gateway contains it. */
export function contentOf(item: number | string): string {
  return `content of item ${item}.`;
}

function textOf(header: string | readonly string[] | undefined): string | null {
  return header === undefined ? null : String(header);
}
