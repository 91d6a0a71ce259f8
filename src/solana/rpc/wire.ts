import { Pool } from '../../shims/undici.ts';
import { Body, OversizedAnswer } from './body.ts';
import type { MethodBounds } from './bounds.ts';
import { Deadline } from './deadline.ts';
import { givingUp } from './giving-up.ts';
import { Gate } from './rate-limiter.ts';

/** Bounds of the requests to one node. */
export interface WireOptions {
  /** From the question to the last byte of the answer; and so long may a question wait for its turn before that. Default 10,000. */
  readonly timeoutMs?: number;
  /** Largest answer that is held at once, unpacked: a longer one can only be read part by part. Default 64 MiB. */
  readonly maxBytes?: number;
  /** Largest answer that is read part by part, unpacked. Default 4 GiB: no block that the chain can make takes so much. */
  readonly maxPartsBytes?: number;
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

/** Reads an answer that is too long to be held, part by part, unpacked. */
export type ReadParts<T> = (parts: AsyncIterable<Uint8Array>) => Promise<T>;

const LONGEST_RETRY_AFTER_MS = 60_000;
const MIB = 1_024 * 1_024;
/** How fast an answer must come that anybody can make very long. */
const MS_PER_BYTE = 1_000 / MIB;

/** Keep-alive HTTP connections to one node, with a deadline and a size bound for every answer. */
export class Wire {
  readonly #pool: Pool;
  readonly #path: string;
  readonly #gate: Gate;
  readonly #timeoutMs: number;
  readonly #maxBytes: number;
  readonly #maxPartsBytes: number;

  constructor(url: URL, options: WireOptions) {
    const { timeoutMs = 10_000, maxBytes = 64 * MIB, connections = 16 } = options;
    this.#path = url.pathname + url.search;
    this.#timeoutMs = timeoutMs;
    this.#maxBytes = maxBytes;
    this.#maxPartsBytes = options.maxPartsBytes ?? 4_096 * MIB;
    this.#gate = new Gate({
      concurrency: connections,
      perSecond: options.requestsPerSecond ?? Number.POSITIVE_INFINITY,
    });
    this.#pool = new Pool(url.origin, { connections, keepAliveTimeout: 30_000 });
  }

  /**
   * Posts JSON and gives the bytes of the answer, unpacked. Throws {@link HttpRefusal}, {@link OversizedAnswer}, `TurnMissed` where it
   * was never asked, or the error of the transport. Once `over` is aborted, the connection is dropped.
   */
  post(body: string, bounds: MethodBounds, over?: AbortSignal): Promise<Buffer> {
    const maxBytes = Math.min(this.#maxBytes, bounds.maxBytes ?? this.#maxBytes);
    return this.#pass(bounds, over, async () => {
      const deadline = new Deadline(this.#timeoutMs);
      return this.#exchange(body, deadline, over, async (answer) => {
        const whole = await answer.whole(maxBytes);
        if (whole !== null) return whole;
        throw new OversizedAnswer(maxBytes, maxBytes === bounds.maxBytes);
      });
    });
  }

  /**
   * {@link post} for an answer of any length: it is waited for as long as it keeps coming, once it has begun, for which it has
   * `patience` times the usual time. One that is too long to be held is given to `read`: what that makes of it is the answer. Throws
   * what `read` throws, too.
   */
  stream<T>(
    body: string,
    bounds: MethodBounds,
    read: ReadParts<T>,
    patience: number,
    over?: AbortSignal,
  ): Promise<Buffer | T> {
    return this.#pass(bounds, over, async () => {
      const deadline = new Deadline(patience * this.#timeoutMs, MS_PER_BYTE);
      return this.#exchange(
        body,
        deadline,
        over,
        async (answer) => (await answer.whole(this.#maxBytes)) ?? read(answer.parts(this.#maxPartsBytes)),
      );
    });
  }

  /** Drops every connection, and what is still asked on it. */
  close(): Promise<void> {
    return this.#pool.destroy();
  }

  #pass<T>({ lane }: MethodBounds, over: AbortSignal | undefined, exchange: () => Promise<T>): Promise<T> {
    const pass = (given: AbortSignal) => this.#gate.pass(given, exchange, lane);
    return givingUp(pass, AbortSignal.timeout(this.#timeoutMs), over);
  }

  async #exchange<T>(
    body: string,
    deadline: Deadline,
    over: AbortSignal | undefined,
    take: (answer: Body) => Promise<T>,
  ): Promise<T> {
    try {
      return await givingUp((end) => this.#request(body, deadline, end, take), deadline.signal, over);
    } finally {
      deadline.clear();
    }
  }

  async #request<T>(
    body: string,
    deadline: Deadline,
    signal: AbortSignal,
    take: (answer: Body) => Promise<T>,
  ): Promise<T> {
    const answer = await this.#pool.request({
      method: 'POST',
      path: this.#path,
      headers: { 'content-type': 'application/json', 'accept-encoding': 'gzip' },
      body,
      signal,
    });
    const { statusCode, headers } = answer;
    if (statusCode < 200 || statusCode > 299) {
      await answer.body.dump();
      throw new HttpRefusal(statusCode, readRetryAfter(headers['retry-after']));
    }
    const coming = new Body(answer, deadline);
    try {
      return await take(coming);
    } finally {
      coming.drop();
    }
  }
}

// RFC 9110: seconds, or a date.
function readRetryAfter(header: string | string[] | undefined): number | null {
  if (typeof header !== 'string') return null;
  const ms = /^\d+$/.test(header) ? Number(header) * 1000 : Date.parse(header) - Date.now();
  return Number.isFinite(ms) ? Math.min(Math.max(ms, 0), LONGEST_RETRY_AFTER_MS) : null;
}
