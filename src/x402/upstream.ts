import type { StoredAnswer } from '../ledger/x402/payments.ts';
import { request } from '../shims/undici.ts';
import { upstreamResponseHeaders } from './routes/headers.ts';

export interface UpstreamRequest {
  readonly method: string;
  /** Absolute URL. */
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Uint8Array;
}

/**
 * A response of the upstream. `whole`: its body is in base64. `streamed`: its body is read while it is sent on, because
 * it exceeds `maxBytes` or because the caller has asked for a stream.
 */
export type UpstreamResponse =
  | ({ readonly kind: 'whole' } & StoredAnswer)
  | {
      readonly kind: 'streamed';
      readonly status: number;
      readonly headers: StoredAnswer['headers'];
      readonly body: AsyncIterable<Uint8Array>;
      /** Closes the connection if the body is not read to its end. */
      readonly discard: () => void;
    };

/** A response; or `none`, if the upstream did not return a whole one in time. */
export type UpstreamAnswer = UpstreamResponse | { readonly kind: 'none'; readonly reason: string };

export interface UpstreamOptions {
  /** Limit from the request to the last byte of a whole response. */
  readonly timeoutMs: number;
  readonly maxBytes: number;
  /** True: a 2xx response is streamed from its first byte on. */
  readonly isStreamed: boolean;
}

/** Calls the upstream once. Never throws. */
export type UpstreamCall = (
  upstreamRequest: UpstreamRequest,
  options: UpstreamOptions,
) => Promise<UpstreamAnswer>;

export const askUpstream: UpstreamCall = async (upstreamRequest, { timeoutMs, maxBytes, isStreamed }) => {
  const { method, url, headers, body } = upstreamRequest;
  const timeout = new AbortController();
  const timer = setTimeout(
    () => timeout.abort(new Error(`no complete response within ${timeoutMs} ms`)),
    timeoutMs,
  );
  try {
    const response = await request(url, {
      method: method as 'GET',
      headers,
      body: body.length === 0 ? null : body,
      signal: timeout.signal,
      headersTimeout: timeoutMs,
      bodyTimeout: timeoutMs,
    });
    const head = { status: response.statusCode, headers: upstreamResponseHeaders(response.headers) };
    const streamed = (begin: Iterable<Uint8Array>) => ({
      kind: 'streamed' as const,
      ...head,
      body: concatenate(begin, response.body),
      discard: () => void response.body.destroy(),
    });
    if (isStreamed && isSuccess(head.status)) return streamed([]);
    const chunks: Uint8Array[] = [];
    let size = 0;
    for await (const chunk of response.body.iterator({ destroyOnReturn: false })) {
      chunks.push(chunk as Uint8Array);
      size += (chunk as Uint8Array).length;
      if (size > maxBytes) return streamed(chunks);
    }
    return { kind: 'whole', ...head, body: Buffer.concat(chunks).toString('base64') };
  } catch (error) {
    return { kind: 'none', reason: `the upstream did not respond (${codeOf(error)})` };
  } finally {
    clearTimeout(timer);
  }
};

export function isSuccess(status: number): boolean {
  return status >= 200 && status < 300;
}

/** The part of a response that can be stored; null for a `streamed` one. */
export function storableAnswer(response: UpstreamResponse): StoredAnswer | null {
  if (response.kind === 'streamed') return null;
  const { kind: _kind, ...answer } = response;
  return answer;
}

/** Closes the connection of a response whose body is not read. */
export function discardAnswer(response: UpstreamResponse): void {
  if (response.kind === 'streamed') response.discard();
}

/** The error's code. Buyers read this text, so it must not contain the upstream's address, as error messages do. */
function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : 'timeout';
}

async function* concatenate(
  begin: Iterable<Uint8Array>,
  rest: AsyncIterable<Uint8Array>,
): AsyncGenerator<Uint8Array> {
  yield* begin;
  yield* rest;
}
