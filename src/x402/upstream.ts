import { isTransientFailure } from '../domain/http-status.ts';
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

/** Sends one request, and follows one redirect on its origin. Never throws. */
export async function askUpstream(
  upstreamRequest: UpstreamRequest,
  options: UpstreamOptions,
): Promise<UpstreamAnswer> {
  const { timeoutMs } = options;
  const timeout = new AbortController();
  const timer = setTimeout(() => timeout.abort(), timeoutMs);
  try {
    const response = await askOnce(upstreamRequest, options, timeout.signal);
    const url = redirectTarget(upstreamRequest, response);
    if (url === null) return response;
    discardAnswer(response);
    return await askOnce({ ...upstreamRequest, url }, options, timeout.signal);
  } catch (error) {
    const cause = timeout.signal.aborted ? `no complete response within ${timeoutMs} ms` : codeOf(error);
    return { kind: 'none', reason: `the upstream did not respond (${cause})` };
  } finally {
    clearTimeout(timer);
  }
}

async function askOnce(
  { method, url, headers, body }: UpstreamRequest,
  { timeoutMs, maxBytes, isStreamed }: UpstreamOptions,
  signal: AbortSignal,
): Promise<UpstreamResponse> {
  const response = await request(url, {
    method: method as 'GET',
    headers,
    body: body.length === 0 ? null : body,
    signal,
    headersTimeout: timeoutMs,
    bodyTimeout: timeoutMs,
  });
  const head = { status: response.statusCode, headers: upstreamResponseHeaders(response.headers) };
  const streamed = (begin: Iterable<Uint8Array>) => {
    // Destroying an unread body emits an error, which no reader handles.
    response.body.on('error', () => undefined);
    const discard = () => void response.body.destroy();
    return { kind: 'streamed' as const, ...head, body: concatenate(begin, response.body), discard };
  };
  if (isStreamed && verdictOf(head.status) === 'served') return streamed([]);
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of response.body.iterator({ destroyOnReturn: false })) {
    chunks.push(chunk as Uint8Array);
    size += (chunk as Uint8Array).length;
    if (size > maxBytes) return streamed(chunks);
  }
  return { kind: 'whole', ...head, body: Buffer.concat(chunks).toString('base64') };
}

const FOLLOWED_REDIRECTS: readonly number[] = [301, 302, 303, 307, 308];

/**
 * Where a redirect leads, if it is followed: only that of a GET, and only to the origin of the upstream, which may get
 * the headers of the request. Null for any other response.
 */
export function redirectTarget(
  { method, url }: Pick<UpstreamRequest, 'method' | 'url'>,
  { status, headers }: Pick<UpstreamResponse, 'status' | 'headers'>,
): string | null {
  const { location } = headers;
  if (method !== 'GET' || !FOLLOWED_REDIRECTS.includes(status) || typeof location !== 'string') return null;
  if (!URL.canParse(location, url)) return null;
  const target = new URL(location, url);
  target.hash = '';
  return target.origin === new URL(url).origin ? target.href : null;
}

/** What a response with this status makes of the obligation. A redirect is no resource: nothing was served by it. */
export function verdictOf(status: number): 'served' | 'owed' | 'refundable' {
  if (status >= 200 && status < 300) return 'served';
  return isTransientFailure(status) ? 'owed' : 'refundable';
}

/** Why a response has not served the request. */
export function reasonOf(answer: UpstreamAnswer): string {
  if (answer.kind === 'none') return answer.reason;
  const { status } = answer;
  return isRedirect(status)
    ? `the upstream returned the redirect ${status}, which the gateway does not follow`
    : `the upstream returned ${status}`;
}

/** The refusal that the buyer gets. Null for a redirect: its target can be the resource itself. */
export function forwardableRefusal(answer: UpstreamResponse): UpstreamResponse | null {
  if (!isRedirect(answer.status)) return answer;
  discardAnswer(answer);
  return null;
}

/** The value of Retry-After, if the upstream sent one. */
export function retryAfterOf(answer: UpstreamAnswer): string | null {
  const value = answer.kind === 'none' ? undefined : answer.headers['retry-after'];
  return typeof value === 'string' ? value : null;
}

function isRedirect(status: number): boolean {
  return status >= 300 && status < 400;
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
  return error instanceof Error && 'code' in error ? String(error.code) : 'no code';
}

async function* concatenate(
  begin: Iterable<Uint8Array>,
  rest: AsyncIterable<Uint8Array>,
): AsyncGenerator<Uint8Array> {
  yield* begin;
  yield* rest;
}
