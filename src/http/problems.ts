import type { FastifyError, FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { DomainError, ERROR_KINDS, type ProblemCode } from '../domain/errors.ts';
import { databaseFault } from '../ledger/connection.ts';
import { temporalFault } from './temporal-faults.ts';

/** What to do about a refusal of Fastify whose own words leave that open. */
const HINTS: ReadonlyMap<string, string> = new Map([
  ['FST_ERR_CTP_INVALID_MEDIA_TYPE', 'send JSON with the header Content-Type: application/json'],
]);
const MEDIA_TYPE = 'application/problem+json; charset=utf-8';

/** Answers every failure of `app` as RFC 9457 `application/problem+json`; nothing but domain errors speaks for itself. */
export function answerProblems(app: FastifyInstance): void {
  app.setErrorHandler((error, request, reply) => {
    const known = asDomainError(error, request.method === 'GET');
    if (known !== null) return sendDomainError(known, request, reply);
    if (isRefusalOfFastify(error)) {
      const hint = HINTS.get(error.code);
      const detail = hint === undefined ? error.message : `${error.message}: ${hint}`;
      return send(reply, error.statusCode, 'InvalidRequest', ERROR_KINDS.InvalidRequest.title, detail);
    }
    request.log.error({ err: error }, 'unexpected failure');
    return send(
      reply,
      500,
      'Internal',
      'An unexpected failure',
      `the log has more under request ${request.id}`,
    );
  });
  app.setNotFoundHandler((request, reply) =>
    sendDomainError(
      new DomainError('NotFound', `there is no ${request.method} ${pathOf(request)}`),
      request,
      reply,
    ),
  );
}

function asDomainError(error: unknown, reads: boolean): DomainError | null {
  if (error instanceof DomainError) return error;
  return databaseFault(error, { reads }) ?? temporalFault(error);
}

function sendDomainError(error: DomainError, request: FastifyRequest, reply: FastifyReply): FastifyReply {
  const { status, title, retryable } = ERROR_KINDS[error.code];
  // Whoever reads the log of an outage wants its cause once a line, not the stack of every request.
  if (retryable && status >= 500)
    request.log.warn({ code: error.code, cause: causeOf(error) }, error.message);
  else if (status >= 500) request.log.error({ err: error }, error.message);
  if (retryable) reply.header('retry-after', '1');
  return send(reply, status, error.code, title, error.message, error.context);
}

function causeOf({ cause }: Error): string | undefined {
  return cause instanceof Error ? cause.message || cause.name : undefined;
}

function send(
  reply: FastifyReply,
  status: number,
  code: ProblemCode,
  title: string,
  detail: string,
  context: Readonly<Record<string, unknown>> = {},
): FastifyReply {
  const body = { ...context, type: `urn:sluice:problem:${code}`, title, status, detail, code };
  return reply.code(status).header('content-type', MEDIA_TYPE).send(body);
}

/** Body too large, wrong media type, broken JSON: the caller's fault, in Fastify's words, which hold nothing of ours. */
function isRefusalOfFastify(error: unknown): error is FastifyError & { statusCode: number } {
  if (!(error instanceof Error) || !('code' in error) || !('statusCode' in error)) return false;
  const { code, statusCode } = error;
  return (
    String(code).startsWith('FST_') && typeof statusCode === 'number' && statusCode >= 400 && statusCode < 500
  );
}

function pathOf(request: FastifyRequest): string {
  return request.url.split('?', 1)[0] ?? request.url;
}
