import type { FastifyInstance } from 'fastify';
import { bearerToken } from '../domain/bearer-token.ts';
import { DomainError } from '../domain/errors.ts';
import type { ApiKeys } from '../ledger/operations/api-keys.ts';

declare module 'fastify' {
  interface FastifyRequest {
    caller: string;
  }
}

/** Requires a known API key for the routes of `app`, and sets `caller` to the name of the key. Never logs a key. */
export function requireApiKey(app: FastifyInstance, keys: Pick<ApiKeys, 'nameOf'>): void {
  app.decorateRequest('caller', '');
  app.addHook('onRequest', async (request, reply) => {
    const key = bearerToken(request.headers.authorization);
    const holder = key === null ? null : await keys.nameOf(key);
    if (holder !== null) {
      request.caller = holder;
      return;
    }
    reply.header('www-authenticate', 'Bearer');
    throw new DomainError(
      'Unauthorized',
      key === null
        ? 'send the API key as "Authorization: Bearer <key>"'
        : 'the API key is unknown; create one with `sluice keys create <name>`',
    );
  });
}
