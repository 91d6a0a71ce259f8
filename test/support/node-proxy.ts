import type { Server, ServerResponse } from 'node:http';
import { bodyOf, createHttp, type HttpServer, type RequestHandler, startHttp } from './http.ts';

/** Any JSON value, untyped. */
export type AnyJson = ReturnType<typeof JSON.parse>;

/** One JSON-RPC request that a client sent to the proxy. */
export interface ProxyRequest {
  readonly id: AnyJson;
  readonly method: string;
  readonly params: AnyJson;
  /** The answer of the node; undefined while the node is unavailable. */
  readonly forward: () => Promise<ProxiedAnswer>;
  readonly response: ServerResponse;
}

/** The answer of a node: `json` is undefined where the body is not JSON, as of a node that limits the rate. */
export interface ProxiedAnswer {
  readonly status: number;
  readonly headers: Headers;
  readonly body: Buffer;
  readonly json: AnyJson;
}

/** Headers of the connection to the node, and of the content encoding, which fetch decodes. */
const DROPPED_HEADERS = [
  'connection',
  'keep-alive',
  'transfer-encoding',
  'content-encoding',
  'content-length',
];

type ProxyAnswer = (asked: ProxyRequest) => Promise<void>;

/** A proxy in front of the node at `target`. It closes the connection, like a dead node, if `answer` fails or the node is unavailable. */
export function startNodeProxy(target: string, answer: ProxyAnswer): Promise<HttpServer> {
  return startHttp(proxied(target, answer));
}

/** A {@link startNodeProxy} that does not listen yet. */
export function createNodeProxy(target: string, answer: ProxyAnswer): Server {
  return createHttp(proxied(target, answer));
}

function proxied(target: string, answer: ProxyAnswer): RequestHandler {
  return async (request, response) => {
    const gone = new AbortController();
    response.once('close', () => gone.abort());
    const body = await bodyOf(request);
    const { id, method, params } = JSON.parse(body.toString());
    await answer({ id, method, params, response, forward: () => askNode(target, body, gone.signal) });
  };
}

/** Passes on the answer of a node: its status, its headers and its bytes. */
export function sendAnswer({ status, headers, body }: ProxiedAnswer, response: ServerResponse): void {
  response.statusCode = status;
  for (const [name, value] of headers) if (!DROPPED_HEADERS.includes(name)) response.setHeader(name, value);
  response.end(body);
}

async function askNode(target: string, body: Buffer, signal: AbortSignal): Promise<ProxiedAnswer> {
  const headers = { 'content-type': 'application/json' };
  const answer = await fetch(target, { method: 'POST', headers, body: new Uint8Array(body), signal });
  const bytes = Buffer.from(await answer.arrayBuffer());
  return { status: answer.status, headers: answer.headers, body: bytes, json: jsonOf(bytes) };
}

function jsonOf(bytes: Buffer): AnyJson {
  try {
    return JSON.parse(bytes.toString());
  } catch {
    return undefined;
  }
}
