import type { FastifyInstance } from 'fastify';
import { DomainError } from '../domain/errors.ts';
import type { ApiKeys } from '../ledger/operations/api-keys.ts';

declare module 'fastify' {
  interface FastifyRequest {
    caller: string;
  }
}

const BEARER = /^Bearer +([\x21-\x7e]{1,256})$/i;

/** Requires a known API key for the routes of `app`, and sets `caller` to the name of the key. Never logs a key. */
export function requireApiKey(app: FastifyInstance, keys: Pick<ApiKeys, 'nameOf'>): void {
  app.decorateRequest('caller', '');
  app.addHook('onRequest', async (request, reply) => {
    const key = BEARER.exec(request.headers.authorization ?? '')?.[1];
    const holder = key === undefined ? null : await keys.nameOf(key);
    if (holder !== null) {
      request.caller = holder;
      return;
    }
    reply.header('www-authenticate', 'Bearer');
    throw new DomainError(
      'Unauthorized',
      key === undefined
        ? 'send the API key as "Authorization: Bearer <key>"'
        : 'the API key is unknown; create one with `sluice keys create <name>`',
    );
  });
}
