import { createHash } from 'node:crypto';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { bearerToken } from '../../domain/bearer-token.ts';
import type { FacilitatorKey } from '../../ledger/operations/api-keys.ts';
import { rateLimiter } from '../rate-limit.ts';
import { limitedAddress, subscriberOf } from '../routes/client-address.ts';
import type { FacilitatorDeps } from './facilitator.ts';
import { MalformedRequest } from './request.ts';

declare module 'fastify' {
  interface FastifyRequest {
    /** The caller's key. If the facilitator requires no key, all callers have {@link NO_KEY}. */
    facilitatorKey: FacilitatorKey;
  }
}

/** All callers without a key together: they share one budget. */
const NO_KEY: FacilitatorKey = { name: '', mints: null, payTos: null, lamportsPerHour: null };

const MAX_KEY_CHARACTERS = 255;
/** All callers without a key together have this many times the rate of one, however many addresses they use. */
const KEYLESS_FACTOR = 20;
const UNAUTHORIZED =
  'send a key of this facilitator as "Authorization: Bearer <key>"; a key of the exchange API is not one';

/** Requires a facilitator key, if keys are configured, and limits the rate of each caller. */
export function guardRoutes(
  app: FastifyInstance,
  { apiKeys, rateLimit, trustedProxies }: FacilitatorDeps,
): void {
  // Clients that share an address that is not public share its rate, too.
  const takeToken = rateLimit === null ? () => 0 : rateLimiter(rateLimit);
  const takeSharedToken = rateLimit === null ? () => 0 : rateLimiter(rateLimit, KEYLESS_FACTOR);
  app.decorateRequest('facilitatorKey');
  app.addHook('onRequest', async (request, reply) => {
    request.facilitatorKey = NO_KEY;
    const address = limitedAddress(request.socket.remoteAddress ?? '', request.headers, trustedProxies);
    const keyless = `address ${address === null ? 'unknown' : subscriberOf(address)}`;
    if (apiKeys !== null) {
      const key = bearerToken(request.headers.authorization);
      const known = key === null ? null : await apiKeys.facilitatorKey(key);
      if (known === null) return unauthorized(reply);
      request.facilitatorKey = known;
    }
    const { name } = request.facilitatorKey;
    const seconds = name === '' ? takeToken(keyless) || takeSharedToken('') : takeToken(`key ${name}`);
    if (seconds === 0) return;
    reply.header('retry-after', String(seconds));
    return reply.code(429).send({ error: `too many requests: retry in ${seconds} s` });
  });
}

function unauthorized(reply: FastifyReply): FastifyReply {
  reply.header('www-authenticate', 'Bearer');
  return reply.code(401).send({ error: UNAUTHORIZED });
}

/**
 * Hash of the request's Idempotency-Key and the caller's facilitator key; null without that header. @throws MalformedRequest
 */
export function idempotencyKeyOf({ headers, facilitatorKey }: FastifyRequest): string | null {
  const key = headers['idempotency-key'];
  if (key === undefined || key === '') return null;
  if (Array.isArray(key) || key.length > MAX_KEY_CHARACTERS)
    throw new MalformedRequest(
      `Idempotency-Key must be sent at most once, with at most ${MAX_KEY_CHARACTERS} characters`,
    );
  return createHash('sha256')
    .update(JSON.stringify([facilitatorKey.name, key]))
    .digest('hex');
}
