import { createHash } from 'node:crypto';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { FacilitatorDeps } from './facilitator.ts';
import { MalformedRequest } from './request.ts';

declare module 'fastify' {
  interface FastifyRequest {
    /** Name of the caller's API key; empty if the facilitator needs none. */
    facilitatorCaller: string;
  }
}

/** A token bucket for each caller: `burst` requests at once, then `perSecond`. */
export interface RateLimit {
  readonly perSecond: number;
  readonly burst: number;
}

const BEARER = /^Bearer +([\x21-\x7e]{1,256})$/i;
const LONGEST_KEY = 255;
const MAX_CALLERS = 10_000;

/** Requires an API key, if keys are configured, and limits the rate of each caller. */
export function guard(app: FastifyInstance, { apiKeys, rateLimit }: FacilitatorDeps): void {
  const waitSeconds = rateLimit === null ? () => 0 : rateLimiter(rateLimit);
  app.decorateRequest('facilitatorCaller', '');
  app.addHook('onRequest', async (request, reply) => {
    if (apiKeys !== null) {
      const key = BEARER.exec(request.headers.authorization ?? '')?.[1];
      const holder = key === undefined ? null : await apiKeys.nameOf(key);
      if (holder === null) return unauthorized(reply);
      request.facilitatorCaller = holder;
    }
    const { facilitatorCaller: name, ip } = request;
    const seconds = waitSeconds(name === '' ? `address ${ip}` : `key ${name}`);
    if (seconds === 0) return;
    reply.header('retry-after', String(seconds));
    return reply.code(429).send({ error: `too many requests: retry in ${seconds} s` });
  });
}

function unauthorized(reply: FastifyReply): FastifyReply {
  reply.header('www-authenticate', 'Bearer');
  return reply.code(401).send({ error: 'send a known API key as "Authorization: Bearer <key>"' });
}

/** Takes one token of a caller. Returns 0, or without a token the seconds until the next one. */
function rateLimiter({ perSecond, burst }: RateLimit): (caller: string) => number {
  /** Ordered by last use, newest last. */
  const buckets = new Map<string, { readonly tokens: number; readonly at: number }>();
  return (caller) => {
    const now = performance.now();
    const { tokens, at } = buckets.get(caller) ?? { tokens: burst, at: now };
    const filled = Math.min(burst, tokens + ((now - at) / 1_000) * perSecond);
    const isAllowed = filled >= 1;
    buckets.delete(caller);
    buckets.set(caller, { tokens: isAllowed ? filled - 1 : filled, at: now });
    const [oldest] = buckets.keys();
    if (buckets.size > MAX_CALLERS && oldest !== undefined) buckets.delete(oldest);
    return isAllowed ? 0 : Math.ceil((1 - filled) / perSecond);
  };
}

/** Hash of the caller's Idempotency-Key, scoped to its API key; null if the request has none. @throws MalformedRequest */
export function idempotencyKeyOf({ headers, facilitatorCaller }: FastifyRequest): string | null {
  const key = headers['idempotency-key'];
  if (key === undefined || key === '') return null;
  if (Array.isArray(key) || key.length > LONGEST_KEY)
    throw new MalformedRequest(`Idempotency-Key: must occur once, with at most ${LONGEST_KEY} characters`);
  return createHash('sha256')
    .update(JSON.stringify([facilitatorCaller, key]))
    .digest('hex');
}
