import type { IncomingMessage } from 'node:http';
import { PassThrough, Readable } from 'node:stream';
import replyFrom from '@fastify/reply-from';
import Fastify, {
  type FastifyBaseLogger,
  type FastifyInstance,
  type FastifyReply,
  type FastifyRequest,
} from 'fastify';
import { isDomainError } from '../../domain/errors.ts';
import { databaseFault } from '../../ledger/connection.ts';
import { ANY_ORIGIN, type GatewayAnswer, jsonAnswer } from './answers.ts';

export interface RawRequest {
  readonly method: string;
  /** The request target, byte for byte. */
  readonly target: string;
  readonly headers: FastifyRequest['headers'];
  /**
   * Reads the whole body. Call it once. Rejects with 413 above 1 MiB, 408 after 30 s, 400 if the client disconnects.
   */
  readonly body: () => Promise<Uint8Array>;
  /** Address of the socket's other end. */
  readonly peer: string;
}

/**
 * Where a free request is forwarded. Its body streams to the upstream without a limit, so the gateway must not read it.
 */
export interface Passage {
  readonly kind: 'passage';
  readonly url: string;
  readonly requestHeaders: Readonly<Record<string, string>>;
  responseHeaders(headers: Readonly<Record<string, unknown>>): Record<string, string | string[]>;
}

type HttpError = Error & { readonly statusCode?: number };

export type Handle = (request: RawRequest) => Promise<GatewayAnswer | Passage>;

const BODY_LIMIT_BYTES = 1024 * 1024;
const BODY_TIMEOUT_MS = 30_000;

/** HTTP server of the gateway. Requests that match none of `routes` go to `handle`, with the target unchanged. */
export async function gatewayApp(
  handle: Handle,
  routes: (app: FastifyInstance) => Promise<void>,
  logger?: FastifyBaseLogger,
): Promise<FastifyInstance> {
  const app: FastifyInstance = Fastify({
    ...(logger === undefined ? {} : { loggerInstance: logger }),
    bodyLimit: BODY_LIMIT_BYTES,
    exposeHeadRoutes: false,
    // The router rejects malformed targets. `handle` gets these too, because it parses targets itself.
    frameworkErrors: (_error, request, reply) =>
      void answerBy(handle, request, reply).catch(() => reply.raw.destroy()),
  });
  app.setErrorHandler(sendError);
  await app.register(replyFrom, { disableRequestLogging: true });
  await app.register(async (server) => {
    server.addHook('onRequest', async ({ raw }) => destroyIfLate(raw));
    await routes(server);
  });
  await app.register(async (scope) => {
    scope.removeAllContentTypeParsers();
    scope.addContentTypeParser('*', (_request, payload, done) => done(null, unreadBody(payload)));
    scope.setNotFoundHandler((request, reply) => answerBy(handle, request, reply));
    scope.all('/*', (request, reply) => answerBy(handle, request, reply));
  });
  await app.ready();
  return app;
}

function sendError(error: HttpError, request: FastifyRequest, reply: FastifyReply): FastifyReply {
  return send(reply, answerError(error, request.log, reply.raw.destroyed));
}

function answerError(err: HttpError, log: FastifyBaseLogger, isGone: boolean): GatewayAnswer {
  if (databaseFault(err) !== null || isDomainError(err, 'Unavailable')) {
    const error = 'the gateway cannot answer now: retry later';
    log.warn({ err }, error);
    return jsonAnswer(503, { error }, { ...ANY_ORIGIN, 'retry-after': '2' });
  }
  const { statusCode: status = 500, message } = err;
  if (status >= 500 && !isGone) log.error({ err }, 'unexpected failure of the gateway');
  return jsonAnswer(status, { error: status >= 500 ? 'Internal server error' : message }, ANY_ORIGIN);
}

async function answerBy(handle: Handle, request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
  const { method = '', url: target = '' } = request.raw;
  const stream = request.body instanceof PassThrough ? request.body : null;
  const body = async () => (stream === null ? new Uint8Array() : readWhole(stream));
  const peer = request.socket.remoteAddress ?? '';
  const answer = await handle({ method, target, headers: request.headers, body, peer });
  if (!('kind' in answer)) return send(reply, answer);
  return reply.from(answer.url, {
    // By default the library retries a busy upstream ten times.
    retryDelay: () => null,
    rewriteRequestHeaders: ({ headers }) => ({
      ...answer.requestHeaders,
      ...(stream === null ? {} : { 'content-length': headers['content-length'] }),
    }),
    rewriteHeaders: (headers) => answer.responseHeaders(headers),
  });
}

/** The body as a separate stream, so that the client still gets a response if the reader stops early. */
function unreadBody(payload: IncomingMessage): PassThrough {
  const body = payload.pipe(new PassThrough());
  payload.once('error', (error) => body.destroy(Object.assign(error, { statusCode: 400 })));
  // If the client disconnects after the upstream's response, no reader handles the error.
  body.on('error', () => undefined);
  return body;
}

async function readWhole(body: PassThrough): Promise<Uint8Array> {
  const timer = setTimeout(
    () => body.destroy(httpError(408, 'the request body was not received within 30 seconds')),
    BODY_TIMEOUT_MS,
  );
  const parts: Uint8Array[] = [];
  let length = 0;
  try {
    for await (const part of body as AsyncIterable<Uint8Array>) {
      length += part.length;
      if (length > BODY_LIMIT_BYTES) throw httpError(413, 'the request body is larger than 1 MiB');
      parts.push(part);
    }
  } finally {
    clearTimeout(timer);
  }
  return Buffer.concat(parts);
}

function httpError(statusCode: number, message: string): Error {
  return Object.assign(new Error(message), { statusCode });
}

function destroyIfLate(raw: IncomingMessage): void {
  const timer = setTimeout(() => raw.complete || raw.destroy(), BODY_TIMEOUT_MS);
  raw.once('close', () => clearTimeout(timer));
}

function send(reply: FastifyReply, { status, headers, body, discard, onSent }: GatewayAnswer): FastifyReply {
  if (discard !== undefined) reply.raw.once('close', discard);
  if (onSent !== undefined) reply.raw.once('finish', onSent);
  // An unread rest of the request body would be parsed as the next request of the connection.
  if (!reply.request.raw.complete) reply.header('connection', 'close');
  reply.code(status);
  for (const [name, value] of Object.entries(headers)) reply.header(name, value);
  if (typeof body === 'string' || body instanceof Uint8Array) return reply.send(body);
  return reply.send(Readable.from(flushed(body, reply)));
}

/** The body. Its head is sent at once: the first byte of a stream of events can be late. */
async function* flushed(body: AsyncIterable<Uint8Array>, { raw }: FastifyReply): AsyncGenerator<Uint8Array> {
  raw.flushHeaders();
  yield* body;
}
