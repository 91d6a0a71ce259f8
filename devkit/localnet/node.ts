import { randomUUID } from 'node:crypto';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import type { SimulatedChain } from './chain/chain.ts';
import { toJson } from './encoding/json.ts';
import { type Fault, Faults, faultOf } from './faults.ts';
import { type MethodTable, NodeView } from './rpc/call.ts';
import { failures, RpcFailure } from './rpc/errors.ts';
import { Params } from './rpc/params.ts';
import { newWallet } from './wallet.ts';

const MAX_BODY_BYTES = 50 * 1024;

/** Faults that affect the connection or its bytes, not one answer in a batch. */
type ConnectionFault = Extract<
  Fault,
  { readonly kind: 'no-answer' | 'drop' | 'lost-answer' | 'http' | 'malformed' }
>;

interface NodeResponse {
  readonly body: Record<string, unknown>;
  readonly connectionFault?: ConnectionFault | undefined;
}

/** The answer of a proxy whose node does not respond. */
const GATEWAY_PAGE = '<html><head><title>502 Bad Gateway</title></head><body>Bad Gateway</body></html>\n';

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function envelope(id: unknown, content: Record<string, unknown>): Record<string, unknown> {
  return { jsonrpc: '2.0', ...content, id: id ?? null };
}

function failureBody(id: unknown, failure: RpcFailure): Record<string, unknown> {
  const { code, message, data } = failure;
  return envelope(id, { error: data === undefined ? { code, message } : { code, message, data } });
}

async function readBody(request: IncomingMessage): Promise<string | null> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of request) {
    const bytes = Buffer.from(chunk);
    size += bytes.length;
    if (size > MAX_BODY_BYTES) return null;
    chunks.push(bytes);
  }
  return Buffer.concat(chunks).toString('utf8');
}

/** A node: an HTTP server that answers from the chain, changed by the node's faults. */
export class RpcNode {
  readonly faults = new Faults();
  readonly server: Server;
  readonly #identity = newWallet().address;
  readonly #chain: SimulatedChain;
  readonly #methods: MethodTable;

  constructor(chain: SimulatedChain, methods: MethodTable) {
    this.#chain = chain;
    this.#methods = methods;
    this.server = createServer((request, response) => void this.#handle(request, response));
    this.server.keepAliveTimeout = 60_000;
  }

  view(faults: readonly Fault[]): NodeView {
    return new NodeView(this.#chain, this.#identity, faults, (kind) => this.faults.count(kind));
  }

  async #handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    try {
      if (request.method === 'GET' && request.url === '/health') return void response.end('ok');
      if (request.method === 'OPTIONS') return this.#preflight(response);
      if (request.method !== 'POST') {
        response.statusCode = 405;
        return void response.end('Used HTTP Method is not allowed. POST or OPTIONS is required\n');
      }
      const body = await readBody(request);
      if (body === null) {
        response.statusCode = 413;
        return void response.end('Payload Too Large');
      }
      await this.#answer(body, response);
    } catch {
      response.destroy();
    }
  }

  #preflight(response: ServerResponse): void {
    response.setHeader('access-control-allow-origin', '*');
    response.setHeader('access-control-allow-methods', 'POST, OPTIONS');
    response.setHeader('access-control-allow-headers', '*');
    response.end();
  }

  async #answer(text: string, response: ServerResponse): Promise<void> {
    let parsed: unknown;
    try {
      parsed = JSON.parse(text);
    } catch {
      return this.#write(response, failureBody(null, new RpcFailure(-32700, 'Parse error')));
    }
    const answers = await Promise.all(
      (Array.isArray(parsed) ? parsed : [parsed]).map((item) => this.#call(item)),
    );
    const body = Array.isArray(parsed) ? answers.map((item) => item.body) : answers[0]?.body;
    const fault = answers.find((item) => item.connectionFault)?.connectionFault;
    if (fault) this.#applyFault(response, fault, body);
    else this.#write(response, body);
  }

  #applyFault(response: ServerResponse, fault: ConnectionFault, body: unknown): void {
    switch (fault.kind) {
      case 'no-answer':
        return;
      case 'drop':
      case 'lost-answer':
        return void response.destroy();
      case 'http':
        return this.#refuse(response, fault);
      case 'malformed':
        return this.#garble(response, fault.form, body);
    }
  }

  #garble(response: ServerResponse, form: 'truncated' | 'html' | 'wrong-id', body: unknown): void {
    if (form === 'wrong-id')
      return this.#write(response, isRecord(body) ? { ...body, id: randomUUID() } : body);
    const text = toJson(body);
    response.setHeader('content-type', form === 'html' ? 'text/html' : 'application/json; charset=utf-8');
    response.end(form === 'html' ? GATEWAY_PAGE : text.slice(0, Math.ceil(text.length / 2)));
  }

  #refuse(response: ServerResponse, fault: Extract<Fault, { kind: 'http' }>): void {
    response.statusCode = fault.status;
    if (fault.retryAfterSeconds !== undefined)
      response.setHeader('retry-after', String(fault.retryAfterSeconds));
    response.end(fault.status === 429 ? 'Too many requests' : 'Service unavailable');
  }

  #write(response: ServerResponse, body: unknown): void {
    response.setHeader('content-type', 'application/json; charset=utf-8');
    response.setHeader('access-control-allow-origin', '*');
    response.end(`${toJson(body)}\n`);
  }

  async #call(request: unknown): Promise<NodeResponse> {
    const { id, method, params } = isRecord(request) ? request : {};
    if (typeof method !== 'string')
      return { body: failureBody(id, new RpcFailure(-32600, 'Invalid request')) };
    const faults = this.faults.take(method);
    const delay = faultOf(faults, 'delay');
    if (delay) await sleep(delay.ms);
    const early = faultOf(faults, 'http') ?? faultOf(faults, 'no-answer') ?? faultOf(faults, 'drop');
    if (early) return { body: {}, connectionFault: early };
    const error = faultOf(faults, 'error');
    if (error) return { body: failureBody(id, new RpcFailure(error.code, error.message, error.data)) };
    if (faultOf(faults, 'null')) return { body: envelope(id, { result: null }) };
    const result = faultOf(faults, 'result');
    if (result) return { body: envelope(id, { result: result.result }) };
    const body = this.#run(id, method, params, faults);
    return { body, connectionFault: faultOf(faults, 'lost-answer') ?? faultOf(faults, 'malformed') };
  }

  #run(id: unknown, method: string, params: unknown, faults: readonly Fault[]): Record<string, unknown> {
    try {
      const run = Object.hasOwn(this.#methods, method) ? this.#methods[method] : undefined;
      if (!run) throw failures.methodNotFound();
      return envelope(id, { result: run(new Params(params), this.view(faults)) });
    } catch (error) {
      if (error instanceof RpcFailure) return failureBody(id, error);
      return failureBody(id, new RpcFailure(-32603, `Internal error: ${String(error)}`));
    }
  }
}
