import { promisify } from 'node:util';
import { gunzip } from 'node:zlib';
import { type Dispatcher, Pool } from 'undici';
import { Gate } from './gate.ts';

/** Bounds of the requests to one node. */
export interface WireOptions {
  /** From the question to the last byte of the answer, the wait for its turn included. Default 10,000. */
  readonly timeoutMs?: number;
  /** Largest answer, unpacked. Default 64 MiB. */
  readonly maxBytes?: number;
  /** Requests at once, each on a keep-alive connection. Default 16. */
  readonly connections?: number;
  /** Requests that start within any second. Default: no limit. */
  readonly requestsPerSecond?: number;
}

/** An HTTP status other than success; `retryAfterMs` is what the node asked for, at most a minute. */
export class HttpRefusal extends Error {
  override readonly name = 'HttpRefusal';
  readonly status: number;
  readonly retryAfterMs: number | null;

  constructor(status: number, retryAfterMs: number | null) {
    super(`HTTP ${status}`);
    this.status = status;
    this.retryAfterMs = retryAfterMs;
  }
}

const LONGEST_RETRY_AFTER_MS = 60_000;
const inflate = promisify(gunzip);

/** Keep-alive HTTP connections to one node, with a deadline and a size bound for every answer. */
export class Wire {
  readonly #pool: Pool;
  readonly #path: string;
  readonly #gate: Gate;
  readonly #timeoutMs: number;
  readonly #maxBytes: number;

  constructor(url: URL, options: WireOptions) {
    const { timeoutMs = 10_000, maxBytes = 64 * 1024 * 1024, connections = 16 } = options;
    this.#path = url.pathname + url.search;
    this.#timeoutMs = timeoutMs;
    this.#maxBytes = maxBytes;
    this.#gate = new Gate({
      concurrency: connections,
      perSecond: options.requestsPerSecond ?? Number.POSITIVE_INFINITY,
    });
    this.#pool = new Pool(url.origin, { connections, keepAliveTimeout: 30_000 });
  }

  /** Posts JSON and gives the bytes of the answer, unpacked. Throws {@link HttpRefusal}, or the error of the transport. */
  post(body: string): Promise<Buffer> {
    const signal = AbortSignal.timeout(this.#timeoutMs);
    return this.#gate.pass(signal, () => this.#exchange(body, signal));
  }

  /** Drops every connection, and what is still asked on it. */
  close(): Promise<void> {
    return this.#pool.destroy();
  }

  async #exchange(body: string, signal: AbortSignal): Promise<Buffer> {
    const {
      statusCode,
      headers,
      body: answer,
    } = await this.#pool.request({
      method: 'POST',
      path: this.#path,
      headers: { 'content-type': 'application/json', 'accept-encoding': 'gzip' },
      body,
      signal,
    });
    const bytes = await this.#collect(answer);
    if (statusCode < 200 || statusCode > 299) {
      throw new HttpRefusal(statusCode, readRetryAfter(headers['retry-after']));
    }
    const zipped = headers['content-encoding'] === 'gzip';
    return zipped ? inflate(bytes, { maxOutputLength: this.#maxBytes }) : bytes;
  }

  async #collect(body: Dispatcher.ResponseData['body']): Promise<Buffer> {
    const parts: Uint8Array[] = [];
    let size = 0;
    for await (const part of body as AsyncIterable<Uint8Array>) {
      size += part.length;
      if (size > this.#maxBytes) throw new Error(`the answer is larger than ${this.#maxBytes} bytes`);
      parts.push(part);
    }
    return Buffer.concat(parts);
  }
}

// RFC 9110: seconds, or a date.
function readRetryAfter(header: string | string[] | undefined): number | null {
  if (typeof header !== 'string') return null;
  const ms = /^\d+$/.test(header) ? Number(header) * 1000 : Date.parse(header) - Date.now();
  return Number.isFinite(ms) ? Math.min(Math.max(ms, 0), LONGEST_RETRY_AFTER_MS) : null;
}
