import type { FastifyError, FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { DomainError, ERROR_KINDS, type ProblemCode } from '../domain/errors.ts';
import { databaseFault } from '../ledger/connection.ts';
import { PROBLEM_TYPE } from './schemas.ts';
import { temporalFault } from './temporal-errors.ts';

const HINTS: ReadonlyMap<string, string> = new Map([
  ['FST_ERR_CTP_INVALID_MEDIA_TYPE', 'send JSON with the header Content-Type: application/json'],
]);
const MEDIA_TYPE = `${PROBLEM_TYPE}; charset=utf-8`;

/**
 * Sends every failure of `app` as RFC 9457 `application/problem+json`. Domain errors and Fastify's own 4xx errors return
 * their message; every other failure is only logged.
 * `methodsOf` returns the methods of a path: other methods of a known path get 405.
 */
export function answerProblems(app: FastifyInstance, methodsOf: (path: string) => readonly string[]): void {
  app.setErrorHandler((error, request, reply) => {
    const domainError = asDomainError(error, request.method === 'GET');
    if (domainError !== null) return sendDomainError(domainError, request, reply);
    if (isFastifyClientError(error)) {
      const hint = HINTS.get(error.code);
      const detail = hint === undefined ? error.message : `${error.message}: ${hint}`;
      return send(reply, error.statusCode, 'InvalidRequest', detail);
    }
    request.log.error({ err: error }, 'unexpected failure');
    return send(
      reply,
      500,
      'Internal',
      `unexpected failure; the cause is in the log of request ${request.id}`,
    );
  });
  // A hook runs before the body is parsed, so that a method without a route gets 405 even if its body is invalid.
  app.addHook('onRequest', async (request, reply) => {
    const path = pathOf(request);
    const allowed = methodsOf(path);
    const message = `there is no ${request.method} ${path}`;
    if (allowed.length > 0 && !allowed.includes(request.method)) {
      reply.header('allow', allowed.join(', '));
      throw new DomainError('MethodNotAllowed', message);
    }
    if (request.is404) throw new DomainError('NotFound', message);
  });
}

function asDomainError(error: unknown, isRead: boolean): DomainError | null {
  if (error instanceof DomainError) return error;
  return databaseFault(error, { reads: isRead }) ?? temporalFault(error);
}

function sendDomainError(error: DomainError, request: FastifyRequest, reply: FastifyReply): FastifyReply {
  const { status, retryable } = ERROR_KINDS[error.code];
  // One line without the stack is enough: during an outage every request fails for the same cause.
  if (retryable && status >= 500)
    request.log.warn({ code: error.code, cause: causeText(error) }, error.message);
  else if (status >= 500) request.log.error({ err: error }, error.message);
  if (retryable) reply.header('retry-after', '1');
  return send(reply, status, error.code, error.message, error.context);
}

function causeText({ cause }: Error): string | undefined {
  return cause instanceof Error ? cause.message || cause.name : undefined;
}

function send(
  reply: FastifyReply,
  status: number,
  code: ProblemCode,
  detail: string,
  context: Readonly<Record<string, unknown>> = {},
): FastifyReply {
  const title = code === 'Internal' ? 'An unexpected failure' : ERROR_KINDS[code].title;
  const body = { ...context, type: `urn:sluice:problem:${code}`, title, status, detail, code };
  return reply.code(status).header('content-type', MEDIA_TYPE).send(body);
}

/** True for Fastify's own 4xx errors, such as a body that is too large. Their messages are safe to return. */
function isFastifyClientError(error: unknown): error is FastifyError & { statusCode: number } {
  if (!(error instanceof Error) || !('code' in error) || !('statusCode' in error)) return false;
  const { code, statusCode } = error;
  return (
    String(code).startsWith('FST_') && typeof statusCode === 'number' && statusCode >= 400 && statusCode < 500
  );
}

function pathOf(request: FastifyRequest): string {
  return request.url.split('?', 1)[0] ?? request.url;
}
