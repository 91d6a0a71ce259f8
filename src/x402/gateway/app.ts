import { Readable } from 'node:stream';
import replyFrom from '@fastify/reply-from';
import Fastify, {
  type FastifyBaseLogger,
  type FastifyInstance,
  type FastifyReply,
  type FastifyRequest,
} from 'fastify';
import { isDomainError } from '../../domain/errors.ts';
import { databaseFault } from '../../ledger/connection.ts';
import { ANY_ORIGIN, type GatewayAnswer, json } from './answer.ts';

/** A request as it came, with its body whole. */
export interface RawRequest {
  readonly method: string;
  /** The request target, as it was sent. */
  readonly target: string;
  readonly headers: FastifyRequest['headers'];
  readonly body: Uint8Array;
  /** Address of the socket. */
  readonly peer: string;
}

/** Where the gateway sends a request that costs nothing. */
export interface Passage {
  readonly kind: 'passage';
  readonly url: string;
  readonly requestHeaders: Readonly<Record<string, string>>;
  responseHeaders(headers: Readonly<Record<string, unknown>>): Record<string, string | string[]>;
}

export type Handle = (request: RawRequest) => Promise<GatewayAnswer | Passage>;

const BODY_LIMIT_BYTES = 1024 * 1024;
const REQUEST_TIMEOUT_MS = 30_000;

/** The HTTP server of the gateway: every method and every target goes to `handle`, with no spelling of the target changed before. */
export async function gatewayApp(
  handle: Handle,
  routes: (app: FastifyInstance) => Promise<void>,
  logger?: FastifyBaseLogger,
): Promise<FastifyInstance> {
  const app: FastifyInstance = Fastify({
    ...(logger === undefined ? {} : { loggerInstance: logger }),
    bodyLimit: BODY_LIMIT_BYTES,
    requestTimeout: REQUEST_TIMEOUT_MS,
    exposeHeadRoutes: false,
    // Targets that no router reads: `handle` reads them itself.
    frameworkErrors: (_error, request, reply) =>
      void answerBy(handle, request, reply).catch(() => reply.raw.destroy()),
  });
  await app.register(replyFrom, { disableRequestLogging: true });
  await routes(app);
  await app.register(async (sold) => {
    sold.removeAllContentTypeParsers();
    sold.addContentTypeParser('*', { parseAs: 'buffer' }, (_request, body, done) => done(null, body));
    sold.setErrorHandler((error: Error & { statusCode?: number }, request, reply) => {
      const status = error.statusCode ?? 500;
      const away = databaseFault(error) ?? (isDomainError(error, 'Unavailable') ? error : null);
      if (away !== null) {
        request.log.warn({ err: error }, 'the gateway cannot answer now');
        return send(
          reply,
          json(503, { error: 'the gateway cannot answer now' }, { ...ANY_ORIGIN, 'retry-after': '2' }),
        );
      }
      if (status >= 500) request.log.error({ err: error }, 'unexpected failure of the gateway');
      return send(
        reply,
        json(status, { error: status >= 500 ? 'Internal server error' : error.message }, ANY_ORIGIN),
      );
    });
    sold.setNotFoundHandler((request, reply) => answerBy(handle, request, reply));
    sold.all('/*', (request, reply) => answerBy(handle, request, reply));
  });
  await app.ready();
  return app;
}

async function answerBy(handle: Handle, request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
  const { method = '', url: target = '' } = request.raw;
  const body = request.body instanceof Uint8Array ? request.body : new Uint8Array();
  const peer = request.socket.remoteAddress ?? '';
  const answer = await handle({ method, target, headers: request.headers, body, peer });
  if (!('kind' in answer)) return send(reply, answer);
  return reply.from(answer.url, {
    // Without a type the library would write the bytes as JSON.
    ...(body.length === 0
      ? {}
      : {
          body: Buffer.from(body),
          contentType: request.headers['content-type'] ?? 'application/octet-stream',
        }),
    // The library would ask a busy upstream ten times.
    retryDelay: () => null,
    rewriteRequestHeaders: () => ({ ...answer.requestHeaders }),
    rewriteHeaders: (headers) => answer.responseHeaders(headers),
  });
}

function send(reply: FastifyReply, { status, headers, body, discard }: GatewayAnswer): FastifyReply {
  if (discard !== undefined) reply.raw.once('close', discard);
  reply.code(status);
  for (const [name, value] of Object.entries(headers)) reply.header(name, value);
  return reply.send(typeof body === 'string' || body instanceof Uint8Array ? body : Readable.from(body));
}
