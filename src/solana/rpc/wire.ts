import { promisify } from 'node:util';
import { gunzip } from 'node:zlib';
import { type Dispatcher, Pool } from 'undici';
import type { MethodBounds } from './bounds.ts';
import { Gate } from './gate.ts';

/** Bounds of the requests to one node. */
export interface WireOptions {
  /** From the question to the last byte of the answer; and so long may a question wait for its turn before that. Default 10,000. */
  readonly timeoutMs?: number;
  /** Largest answer to any question, unpacked. Default 64 MiB. */
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

/** An answer of more than `maxBytes`, which was not read to its end. */
export class OversizedAnswer extends Error {
  override readonly name = 'OversizedAnswer';
  readonly maxBytes: number;

  constructor(maxBytes: number) {
    super(`the answer is larger than ${maxBytes} bytes`);
    this.maxBytes = maxBytes;
  }
}

const LONGEST_RETRY_AFTER_MS = 60_000;
const inflate = promisify(gunzip);
const TOO_LONG_TO_INFLATE = 'ERR_BUFFER_TOO_LARGE';

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

  /**
   * Posts JSON and gives the bytes of the answer, unpacked. Throws {@link HttpRefusal}, {@link OversizedAnswer}, `TurnMissed` where it
   * was never asked, or the error of the transport.
   */
  post(body: string, bounds: MethodBounds): Promise<Buffer> {
    const turn = AbortSignal.timeout(this.#timeoutMs);
    const maxBytes = Math.min(this.#maxBytes, bounds.maxBytes ?? this.#maxBytes);
    const exchange = () => this.#exchange(body, maxBytes, AbortSignal.timeout(this.#timeoutMs));
    return this.#gate.pass(turn, exchange, bounds.lane);
  }

  /** Drops every connection, and what is still asked on it. */
  close(): Promise<void> {
    return this.#pool.destroy();
  }

  async #exchange(body: string, maxBytes: number, signal: AbortSignal): Promise<Buffer> {
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
    if (statusCode < 200 || statusCode > 299) {
      await answer.dump();
      throw new HttpRefusal(statusCode, readRetryAfter(headers['retry-after']));
    }
    const bytes = await collect(answer, maxBytes);
    return headers['content-encoding'] === 'gzip' ? unpack(bytes, maxBytes) : bytes;
  }
}

async function collect(body: Dispatcher.ResponseData['body'], maxBytes: number): Promise<Buffer> {
  const parts: Uint8Array[] = [];
  let size = 0;
  for await (const part of body as AsyncIterable<Uint8Array>) {
    size += part.length;
    if (size > maxBytes) throw new OversizedAnswer(maxBytes);
    parts.push(part);
  }
  return Buffer.concat(parts);
}

async function unpack(bytes: Buffer, maxBytes: number): Promise<Buffer> {
  try {
    return await inflate(bytes, { maxOutputLength: maxBytes });
  } catch (error) {
    const isLong = error instanceof Error && 'code' in error && error.code === TOO_LONG_TO_INFLATE;
    throw isLong ? new OversizedAnswer(maxBytes) : error;
  }
}

// RFC 9110: seconds, or a date.
function readRetryAfter(header: string | string[] | undefined): number | null {
  if (typeof header !== 'string') return null;
  const ms = /^\d+$/.test(header) ? Number(header) * 1000 : Date.parse(header) - Date.now();
  return Number.isFinite(ms) ? Math.min(Math.max(ms, 0), LONGEST_RETRY_AFTER_MS) : null;
}
