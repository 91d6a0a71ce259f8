import { errorOf, SluiceError } from './errors.ts';
import { type CallOptions, delay } from './waiting.ts';

export interface SluiceClientOptions {
  /** Root URL of the API, such as `http://127.0.0.1:3402`. */
  readonly baseUrl: string;
  readonly apiKey: string;
  /** @default globalThis.fetch */
  readonly fetch?: typeof globalThis.fetch;
  /** Timeout of one try. @default 30_000 */
  readonly timeoutMs?: number;
  /** Maximum number of retries after temporary failures. @default 4 */
  readonly retries?: number;
  /** No retry begins later than this after the first try. @default 60_000 */
  readonly retryWithinMs?: number;
  /** Called once per call, before its first retry, with the error of the first try. */
  readonly onRetry?: (error: SluiceError) => void;
}

export interface Call {
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE';
  /** Path and query below the root of the API. */
  readonly path: string;
  readonly body?: unknown;
}

const FIRST_DELAY_MS = 200;
const MAX_DELAY_MS = 5_000;

/** Sends calls with the API key and a timeout. Retries temporary failures, because all calls are idempotent. */
export class Transport {
  readonly #options: SluiceClientOptions;

  constructor(options: SluiceClientOptions) {
    this.#options = options;
  }

  /**
   * Returns the JSON body of a 2xx response.
   *
   * @throws SluiceError for every other response, and if there is no response; the reason of an aborted `signal`.
   */
  async call<T>(call: Call, { signal }: CallOptions = {}): Promise<T> {
    const { retries = 4, retryWithinMs = 60_000 } = this.#options;
    const begun = performance.now();
    for (let failures = 0; ; failures += 1) {
      const outcome = await this.#try<T>(call, signal);
      if (outcome.ok) return outcome.value;
      signal?.throwIfAborted();
      const pauseMs = outcome.retryAfterMs ?? backoff(failures);
      const isLate = performance.now() - begun + pauseMs > retryWithinMs;
      if (!outcome.error.retryable || failures >= retries || isLate) throw outcome.error;
      if (failures === 0) this.#options.onRetry?.(outcome.error);
      await delay(pauseMs, signal);
    }
  }

  async #try<T>(call: Call, signal: AbortSignal | undefined): Promise<CallOutcome<T>> {
    const { timeoutMs = 30_000 } = this.#options;
    const controller = new AbortController();
    const abort = (): void => controller.abort(signal?.reason);
    const timer = setTimeout(
      () => controller.abort(new DOMException(`no response within ${timeoutMs} ms`, 'TimeoutError')),
      timeoutMs,
    );
    signal?.addEventListener('abort', abort);
    if (signal?.aborted) abort();
    try {
      return await this.#ask<T>(call, controller.signal);
    } catch (cause) {
      return { ok: false, error: unreachable(this.#options.baseUrl, cause), retryAfterMs: null };
    } finally {
      clearTimeout(timer);
      signal?.removeEventListener('abort', abort);
    }
  }

  async #ask<T>(call: Call, signal: AbortSignal): Promise<CallOutcome<T>> {
    const { baseUrl, apiKey, fetch: send = globalThis.fetch } = this.#options;
    const headers: Record<string, string> = { authorization: `Bearer ${apiKey}`, accept: 'application/json' };
    if (call.body !== undefined) headers['content-type'] = 'application/json';
    const response = await send(`${baseUrl.replace(/\/+$/, '')}${call.path}`, {
      method: call.method,
      headers,
      signal,
      ...(call.body === undefined ? {} : { body: JSON.stringify(call.body) }),
    });
    if (response.ok) return { ok: true, value: (await response.json()) as T };
    return { ok: false, error: await errorOf(response), retryAfterMs: retryAfter(response) };
  }
}

type CallOutcome<T> =
  | { readonly ok: true; readonly value: T }
  | { readonly ok: false; readonly error: SluiceError; readonly retryAfterMs: number | null };

/** Encodes a path segment. Throws SluiceError InvalidRequest for `.` and `..`, which URLs resolve even if encoded. */
export function pathPart(text: string): string {
  if (text === '.' || text === '..') throw new SluiceError('InvalidRequest', 400, `${text} cannot be an id`);
  return encodeURIComponent(text);
}

/** `?name=value&…` for the values that are not null or undefined; empty if there are none. */
export function queryOf(values: object): string {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(values)) {
    if (value !== undefined && value !== null) query.set(name, String(value));
  }
  return query.size === 0 ? '' : `?${query.toString()}`;
}

function unreachable(baseUrl: string, cause: unknown): SluiceError {
  return new SluiceError('Unreachable', 0, `no answer from ${baseUrl}: ${rootMessageOf(cause)}`, null, cause);
}

/** The message of the innermost cause, because fetch's own message is only "fetch failed". */
function rootMessageOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  if (error.cause instanceof Error) return rootMessageOf(error.cause);
  return error.message || ('code' in error ? String(error.code) : error.name);
}

/** Half fixed, half random, so that many clients of a stopped API do not retry at the same time. */
function backoff(failures: number): number {
  const ceiling = Math.min(MAX_DELAY_MS, FIRST_DELAY_MS * 2 ** failures);
  return ceiling / 2 + (Math.random() * ceiling) / 2;
}

function retryAfter(response: Response): number | null {
  const seconds = Number(response.headers.get('retry-after') ?? Number.NaN);
  return Number.isFinite(seconds) && seconds >= 0 ? Math.min(seconds * 1_000, 60_000) : null;
}
