import { createHash } from 'node:crypto';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { Unreadable } from './body.ts';
import type { FacilitatorDeps } from './deps.ts';
import { RateLimiter } from './rate-limit.ts';

declare module 'fastify' {
  interface FastifyRequest {
    /** Name of the caller's API key; empty if the facilitator needs none. */
    facilitatorCaller: string;
  }
}

const BEARER = /^Bearer +([\x21-\x7e]{1,256})$/i;
const LONGEST_KEY = 255;

/** Requires an API key, if keys are configured, and limits the rate of each caller. */
export function guard(app: FastifyInstance, { apiKeys, rateLimit }: FacilitatorDeps): void {
  const limiter = rateLimit === null ? null : new RateLimiter(rateLimit);
  app.decorateRequest('facilitatorCaller', '');
  app.addHook('onRequest', async (request, reply) => {
    if (apiKeys !== null) {
      const key = BEARER.exec(request.headers.authorization ?? '')?.[1];
      const holder = key === undefined ? null : await apiKeys.holderOf(key);
      if (holder === null) return unauthorized(reply);
      request.facilitatorCaller = holder;
    }
    const { facilitatorCaller: name, ip } = request;
    const waitSeconds = limiter?.take(name === '' ? `address ${ip}` : `key ${name}`) ?? 0;
    if (waitSeconds === 0) return;
    reply.header('retry-after', String(waitSeconds));
    return reply.code(429).send({ error: `too many requests: retry in ${waitSeconds} s` });
  });
}

function unauthorized(reply: FastifyReply): FastifyReply {
  reply.header('www-authenticate', 'Bearer');
  return reply.code(401).send({ error: 'send a known API key as "Authorization: Bearer <key>"' });
}

/** Hash of the caller's Idempotency-Key, scoped to its API key; null if the request has none. @throws Unreadable */
export function idempotencyKeyOf({ headers, facilitatorCaller }: FastifyRequest): string | null {
  const key = headers['idempotency-key'];
  if (key === undefined || key === '') return null;
  if (Array.isArray(key) || key.length > LONGEST_KEY)
    throw new Unreadable(`Idempotency-Key: must occur once, with at most ${LONGEST_KEY} characters`);
  return createHash('sha256')
    .update(JSON.stringify([facilitatorCaller, key]))
    .digest('hex');
}
