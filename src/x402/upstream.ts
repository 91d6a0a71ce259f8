import type { StoredAnswer } from '../ledger/x402/payments.ts';
import { request } from '../shims/undici.ts';
import { answerHeaders } from './routes/headers.ts';

export interface UpstreamRequest {
  readonly method: string;
  /** Absolute URL. */
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Uint8Array;
}

/** A response, whole with its body in base64; or, if it is too large, with its body as a stream. */
export type UpstreamResponse =
  | ({ readonly kind: 'whole' } & StoredAnswer)
  | {
      readonly kind: 'large';
      readonly status: number;
      readonly headers: StoredAnswer['headers'];
      readonly body: AsyncIterable<Uint8Array>;
      /** Closes the connection if the body is not read to its end. */
      readonly discard: () => void;
    };

export type UpstreamAnswer = UpstreamResponse | { readonly kind: 'none'; readonly reason: string };

export interface UpstreamOptions {
  /** From the request to the last byte of a response that is stored. */
  readonly timeoutMs: number;
  readonly maxBytes: number;
}

/** Calls the upstream once. Never throws. */
export type UpstreamAsker = (sent: UpstreamRequest, options: UpstreamOptions) => Promise<UpstreamAnswer>;

export const askUpstream: UpstreamAsker = async (sent, { timeoutMs, maxBytes }) => {
  const { method, url, headers, body } = sent;
  const over = new AbortController();
  const timer = setTimeout(() => over.abort(new Error(`no whole answer in ${timeoutMs} ms`)), timeoutMs);
  try {
    const response = await request(url, {
      method: method as 'GET',
      headers,
      body: body.length === 0 ? null : body,
      signal: over.signal,
      headersTimeout: timeoutMs,
      bodyTimeout: timeoutMs,
    });
    const head = { status: response.statusCode, headers: answerHeaders(response.headers) };
    const chunks: Uint8Array[] = [];
    let size = 0;
    for await (const chunk of response.body.iterator({ destroyOnReturn: false })) {
      chunks.push(chunk as Uint8Array);
      size += (chunk as Uint8Array).length;
      if (size > maxBytes) {
        const discard = () => void response.body.destroy();
        return { kind: 'large', ...head, body: joined(chunks, response.body), discard };
      }
    }
    return { kind: 'whole', ...head, body: Buffer.concat(chunks).toString('base64') };
  } catch (error) {
    return { kind: 'none', reason: `no answer of the upstream (${codeOf(error)})` };
  } finally {
    clearTimeout(timer);
  }
};

/** What can be stored; null for a response that is too large. */
export function storable(response: UpstreamResponse): StoredAnswer | null {
  if (response.kind === 'large') return null;
  const { kind: _kind, ...answer } = response;
  return answer;
}

/** Buyers can read this text, so it excludes the upstream's address. */
function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : 'it took too long';
}

async function* joined(
  begin: Iterable<Uint8Array>,
  rest: AsyncIterable<Uint8Array>,
): AsyncGenerator<Uint8Array> {
  yield* begin;
  yield* rest;
}
