import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Flow, PlannedPurchase } from './plan.ts';

/** One request that the upstream received. */
export interface ItemRequest {
  /** The subject of the query, or the whole target if it has none. */
  readonly subject: string;
  readonly paymentId: string | null;
  readonly idempotencyKey: string | null;
  /** 400: the method or the body is not that of the buyer. */
  readonly status: 200 | 400 | 503;
}

/** The server whose items the gateway sells: it records every request, and refuses or delays some of them. */
export class Upstream {
  readonly requests: ItemRequest[] = [];
  readonly #purchases: ReadonlyMap<string, PlannedPurchase>;
  readonly #refused = new Map<string, number>();
  readonly #server: Server;

  private constructor(purchases: readonly PlannedPurchase[]) {
    // The first buyer of a shared target decides how it is answered.
    this.#purchases = new Map(purchases.toReversed().map((one) => [one.subject, one]));
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

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { method = '', url = '', headers } = request;
    // A gateway that is killed can cut its request.
    const body = await textOf(request).catch(() => null);
    if (body === null) return;
    const subject = new URL(url, 'http://upstream').searchParams.get('n') ?? url;
    const purchase = this.#purchases.get(subject);
    const { flow = 'get', slowMs = 0 } = purchase ?? {};
    const isComplete = method === methodOf(flow) && body === bodyOf(flow, subject);
    const status = isComplete ? this.#status(subject, purchase) : 400;
    const paymentId = valueOf(headers['x-sluice-payment']);
    const idempotencyKey = valueOf(headers['idempotency-key']);
    this.requests.push({ subject, paymentId, idempotencyKey, status });
    if (flow !== 'stream') await sleep(slowMs);
    response.writeHead(status, { 'content-type': 'text/plain' });
    if (status !== 200) return void response.end('busy');
    if (flow !== 'stream') return void response.end(contentOf(subject));
    response.write('the item begins: ');
    await sleep(slowMs);
    response.end(contentOf(subject));
  }

  #status(subject: string, purchase: PlannedPurchase | undefined): 200 | 503 {
    const refused = this.#refused.get(subject) ?? 0;
    if (refused >= (purchase?.refusals ?? 0)) return 200;
    this.#refused.set(subject, refused + 1);
    return 503;
  }
}

/** The content of a subject: no other answer of the gateway contains it. */
export function contentOf(subject: string): string {
  return `content of item ${subject}.`;
}

export function methodOf(flow: Flow): 'GET' | 'POST' {
  return flow === 'post' || flow === 'post-once' ? 'POST' : 'GET';
}

/** Body of the buyer's request. */
export function bodyOf(flow: Flow, subject: string): string {
  return methodOf(flow) === 'POST' ? `order item ${subject}` : '';
}

async function textOf(request: IncomingMessage): Promise<string> {
  const parts: Uint8Array[] = [];
  for await (const part of request) parts.push(part as Uint8Array);
  return Buffer.concat(parts).toString('utf8');
}

function valueOf(header: string | readonly string[] | undefined): string | null {
  return header === undefined ? null : String(header);
}
