import { Pool } from '../../shims/undici.ts';
import { Body, OversizedAnswer } from './body.ts';
import { Deadline } from './deadline.ts';
import { type Lane, RateLimiter } from './rate-limiter.ts';
import { withAbort } from './with-abort.ts';

export interface WireOptions {
  /**
   * Milliseconds from the request to the last byte of the answer; also the longest wait for the rate limits. Default
   * 10,000.
   */
  readonly timeoutMs?: number;
  /** Largest decompressed answer that is stored in memory; a larger one can only be read in parts. Default 64 MiB. */
  readonly maxBytes?: number;
  /** Largest decompressed answer that is read in parts. Default 4 GiB, which no block reaches. */
  readonly maxPartsBytes?: number;
  /** Concurrent requests, each on a keep-alive connection. Default 16. */
  readonly connections?: number;
  /** Requests that start within any second. Default: no limit. */
  readonly requestsPerSecond?: number;
}

/** The node answered with an HTTP status other than 2xx. `retryAfterMs`: its Retry-After, at most one minute. */
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

/** Reads the decompressed parts of an answer that is too large for memory. */
export type ReadParts<T> = (parts: AsyncIterable<Uint8Array>) => Promise<T>;

const MAX_RETRY_AFTER_MS = 60_000;
const MIB = 1_024 * 1_024;
/** Slowest accepted transfer of a streamed answer: 1 MiB per second. */
const MAX_MS_PER_BYTE = 1_000 / MIB;

/** HTTP client for one node: keep-alive connections, rate limits, and a deadline and size limit for every answer. */
export class Wire {
  readonly #pool: Pool;
  readonly #path: string;
  readonly #limiter: RateLimiter;
  readonly #timeoutMs: number;
  readonly #maxBytes: number;
  readonly #maxPartsBytes: number;

  constructor(url: URL, options: WireOptions) {
    const { timeoutMs = 10_000, maxBytes = 64 * MIB, connections = 16 } = options;
    this.#path = url.pathname + url.search;
    this.#timeoutMs = timeoutMs;
    this.#maxBytes = maxBytes;
    this.#maxPartsBytes = options.maxPartsBytes ?? 4_096 * MIB;
    this.#limiter = new RateLimiter({
      concurrency: connections,
      perSecond: options.requestsPerSecond ?? Number.POSITIVE_INFINITY,
    });
    this.#pool = new Pool(url.origin, { connections, keepAliveTimeout: 30_000 });
  }

  /**
   * Posts JSON and returns the decompressed bytes of the answer. Closes the connection if `signal` aborts. Throws
   * {@link HttpRefusal}, {@link OversizedAnswer}, an error of the transport, or `RateLimitTimeout` if the request was
   * not sent.
   */
  post(body: string, lane: Lane, signal?: AbortSignal): Promise<Buffer> {
    return this.#pass(lane, signal, () =>
      this.#exchange(body, new Deadline(this.#timeoutMs), signal, async (answer) => {
        const whole = await answer.whole(this.#maxBytes);
        if (whole !== null) return whole;
        throw new OversizedAnswer(this.#maxBytes, false);
      }),
    );
  }

  /**
   * Like {@link post}, for an answer of any length. The answer must start within `timeoutFactor` timeouts; after that
   * it has no time limit while it arrives fast enough. An answer too large for memory is passed to `read`, and the
   * result or error of `read` is returned or thrown.
   */
  stream<T>(
    body: string,
    read: ReadParts<T>,
    timeoutFactor: number,
    signal?: AbortSignal,
  ): Promise<Buffer | T> {
    return this.#pass('read', signal, () =>
      this.#exchange(
        body,
        new Deadline(timeoutFactor * this.#timeoutMs, MAX_MS_PER_BYTE),
        signal,
        async (answer) => (await answer.whole(this.#maxBytes)) ?? read(answer.parts(this.#maxPartsBytes)),
      ),
    );
  }

  close(): Promise<void> {
    return this.#pool.destroy();
  }

  #pass<T>(lane: Lane, signal: AbortSignal | undefined, exchange: () => Promise<T>): Promise<T> {
    const passLimiter = (limiterSignal: AbortSignal) => this.#limiter.pass(limiterSignal, exchange, lane);
    return withAbort(passLimiter, AbortSignal.timeout(this.#timeoutMs), signal);
  }

  async #exchange<T>(
    body: string,
    deadline: Deadline,
    signal: AbortSignal | undefined,
    readAnswer: (answer: Body) => Promise<T>,
  ): Promise<T> {
    try {
      return await withAbort(
        (requestSignal) => this.#request(body, deadline, requestSignal, readAnswer),
        deadline.signal,
        signal,
      );
    } finally {
      deadline.clear();
    }
  }

  async #request<T>(
    body: string,
    deadline: Deadline,
    signal: AbortSignal,
    readAnswer: (answer: Body) => Promise<T>,
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
    const answerBody = new Body(answer, deadline);
    try {
      return await readAnswer(answerBody);
    } finally {
      answerBody.drop();
    }
  }
}

// RFC 9110: seconds, or a date.
function readRetryAfter(header: string | string[] | undefined): number | null {
  if (typeof header !== 'string') return null;
  const ms = /^\d+$/.test(header) ? Number(header) * 1000 : Date.parse(header) - Date.now();
  return Number.isFinite(ms) ? Math.min(Math.max(ms, 0), MAX_RETRY_AFTER_MS) : null;
}
