import { promisify } from 'node:util';
import { gunzip } from 'node:zlib';
import { Pool } from 'undici';
import { z } from 'zod';
import { DomainError } from '../../domain/errors.ts';
import { RpcError } from './errors.ts';
import { parseJson } from './json.ts';

/** Bounds of one request. */
export interface NodeOptions {
  readonly timeoutMs?: number;
  readonly maxBytes?: number;
  readonly connections?: number;
  /** Name for logs and evidence. Default: the host, without path and query, where providers put their keys. */
  readonly name?: string;
}

const inflate = promisify(gunzip);

const envelope = z.object({
  result: z.unknown().optional(),
  error: z.object({ code: z.number(), message: z.string(), data: z.unknown().optional() }).optional(),
});

/** One Solana JSON-RPC node over keep-alive connections, with a deadline and a size bound for every answer. */
export class SolanaNode {
  readonly url: string;
  readonly name: string;
  /** Requests sent since the start. */
  callCount = 0;
  readonly #pool: Pool;
  readonly #path: string;
  readonly #timeoutMs: number;
  readonly #maxBytes: number;
  #nextId = 1;

  constructor(url: string, options: NodeOptions = {}) {
    const parsed = new URL(url);
    this.url = url;
    this.name = options.name ?? parsed.host;
    this.#path = parsed.pathname + parsed.search;
    this.#timeoutMs = options.timeoutMs ?? 10_000;
    this.#maxBytes = options.maxBytes ?? 64 * 1024 * 1024;
    this.#pool = new Pool(parsed.origin, {
      connections: options.connections ?? 16,
      keepAliveTimeout: 30_000,
    });
  }

  /**
   * One JSON-RPC call whose result has the shape `schema`.
   * Throws RpcError for an error object, DomainError NodeFault for transport faults and answers of another shape.
   */
  async call<T>(method: string, params: readonly unknown[], schema: z.ZodType<T>): Promise<T> {
    this.callCount += 1;
    const answer = this.#read(envelope, await this.#post(method, params), method, '');
    if (answer.error !== undefined) throw new RpcError(answer.error, this.name, method);
    return this.#read(schema, answer.result, method, 'result');
  }

  async close(): Promise<void> {
    await this.#pool.close();
  }

  async #post(method: string, params: readonly unknown[]): Promise<unknown> {
    const body = JSON.stringify({ jsonrpc: '2.0', id: this.#nextId++, method, params });
    try {
      const response = await this.#pool.request({
        method: 'POST',
        path: this.#path,
        headers: { 'content-type': 'application/json', 'accept-encoding': 'gzip' },
        body,
        signal: AbortSignal.timeout(this.#timeoutMs),
      });
      const bytes = await this.#collect(response.body);
      const retryAfterMs = readRetryAfter(response.headers['retry-after']);
      if (response.statusCode === 429 || response.statusCode >= 500) {
        throw this.#fault(method, `HTTP ${response.statusCode}`, {
          status: response.statusCode,
          retryAfterMs,
        });
      }
      const zipped = response.headers['content-encoding'] === 'gzip';
      const plain = zipped ? await inflate(bytes, { maxOutputLength: this.#maxBytes }) : bytes;
      return parseJson(plain.toString('utf8'));
    } catch (error) {
      if (error instanceof DomainError) throw error;
      throw this.#fault(method, error instanceof Error ? error.message : 'no answer', {}, error);
    }
  }

  async #collect(body: AsyncIterable<Uint8Array>): Promise<Buffer> {
    const parts: Uint8Array[] = [];
    let size = 0;
    for await (const part of body) {
      size += part.length;
      if (size > this.#maxBytes) throw new Error(`the answer is larger than ${this.#maxBytes} bytes`);
      parts.push(part);
    }
    return Buffer.concat(parts);
  }

  #read<T>(schema: z.ZodType<T>, value: unknown, method: string, root: string): T {
    const parsed = schema.safeParse(value);
    if (parsed.success) return parsed.data;
    const issue = parsed.error.issues[0];
    const field = [root, ...(issue?.path ?? []).map(String)].filter((part) => part !== '').join('.');
    throw this.#fault(method, `${field || 'answer'}: ${issue?.message ?? 'unreadable'}`, { field });
  }

  #fault(method: string, why: string, context: Record<string, unknown>, cause?: unknown): DomainError {
    return new DomainError(
      'NodeFault',
      `${this.name} ${method}: ${why}`,
      { node: this.name, method, ...context },
      cause,
    );
  }
}

function readRetryAfter(header: string | string[] | undefined): number | null {
  const seconds = Number(typeof header === 'string' ? header : undefined);
  return Number.isFinite(seconds) ? Math.min(seconds * 1000, 60_000) : null;
}
