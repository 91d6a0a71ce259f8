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

/** The whole response; or, if it is too large, its head, the part that was read, and the rest as a stream; or none. */
export type UpstreamAnswer =
  | { readonly kind: 'whole'; readonly answer: StoredAnswer }
  | {
      readonly kind: 'large';
      readonly status: number;
      readonly headers: StoredAnswer['headers'];
      readonly body: AsyncIterable<Uint8Array>;
      /** Closes the connection if the body is not read to its end. */
      readonly discard: () => void;
    }
  | { readonly kind: 'none'; readonly reason: string };

export interface UpstreamOptions {
  /** From the request to the last byte of a response that is stored. */
  readonly timeoutMs: number;
  readonly maxBytes: number;
}

/** Calls the upstream once. Never throws. */
export type UpstreamAsker = (asked: UpstreamRequest, options: UpstreamOptions) => Promise<UpstreamAnswer>;

export const askUpstream: UpstreamAsker = async (asked, { timeoutMs, maxBytes }) => {
  const { method, url, headers, body } = asked;
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
    const kept = answerHeaders(response.headers);
    const head = { status: response.statusCode, headers: kept };
    const read = await readUpTo(response.body, maxBytes);
    if (read.rest !== null) {
      const discard = () => void response.body.destroy();
      return { kind: 'large', ...head, body: joined(read.bytes, read.rest), discard };
    }
    return { kind: 'whole', answer: { ...head, body: read.bytes.toString('base64') } };
  } catch (error) {
    return { kind: 'none', reason: `no answer of the upstream (${codeOf(error)})` };
  } finally {
    clearTimeout(timer);
  }
};

/** Buyers can read this text, so it excludes the upstream's address. */
function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : 'it took too long';
}

interface ReadPart {
  readonly bytes: Buffer;
  /** Null after the last byte. */
  readonly rest: AsyncIterator<Uint8Array> | null;
}

async function readUpTo(body: AsyncIterable<Uint8Array>, maxBytes: number): Promise<ReadPart> {
  const rest = body[Symbol.asyncIterator]();
  const chunks: Uint8Array[] = [];
  let size = 0;
  for (;;) {
    const { done, value } = await rest.next();
    if (done === true) return { bytes: Buffer.concat(chunks), rest: null };
    chunks.push(value);
    size += value.length;
    if (size > maxBytes) return { bytes: Buffer.concat(chunks), rest };
  }
}

async function* joined(begin: Uint8Array, rest: AsyncIterator<Uint8Array>): AsyncGenerator<Uint8Array> {
  yield begin;
  for (;;) {
    const { done, value } = await rest.next();
    if (done === true) return;
    yield value;
  }
}
