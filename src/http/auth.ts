import type { FastifyInstance } from 'fastify';
import { DomainError } from '../domain/errors.ts';

/** Answers whether a key was given out. */
export interface KnownKeys {
  known(key: string): Promise<boolean>;
}

const BEARER = /^Bearer +([\x21-\x7e]{1,256})$/i;

/** Lets only calls with a known API key through to the routes of `app`; the key is never logged. */
export function requireApiKey(app: FastifyInstance, keys: KnownKeys): void {
  app.addHook('onRequest', async (request, reply) => {
    const key = BEARER.exec(request.headers.authorization ?? '')?.[1];
    if (key !== undefined && (await keys.known(key))) return;
    reply.header('www-authenticate', 'Bearer');
    throw new DomainError(
      'Unauthorized',
      key === undefined ? 'send the API key as "Authorization: Bearer <key>"' : 'the API key is not known',
    );
  });
}
