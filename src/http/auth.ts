import type { FastifyInstance, FastifyRequest } from 'fastify';
import { DomainError } from '../domain/errors.ts';

/** Answers whether a key was given out. */
export interface KnownKeys {
  known(key: string): Promise<boolean>;
}

/** Answers to whom a key was given out. */
export interface KeyHolders {
  holderOf(key: string): Promise<string | null>;
}

const BEARER = /^Bearer +([\x21-\x7e]{1,256})$/i;

/** Lets only calls with a known API key through to the routes of `app`; the key is never logged. */
export function requireApiKey(app: FastifyInstance, keys: KnownKeys): void {
  app.addHook('onRequest', async (request, reply) => {
    const key = keyOf(request);
    if (key !== undefined && (await keys.known(key))) return;
    reply.header('www-authenticate', 'Bearer');
    throw new DomainError(
      'Unauthorized',
      key === undefined ? 'send the API key as "Authorization: Bearer <key>"' : 'the API key is not known',
    );
  });
}

/** The name of the API key that a guarded call came with. */
export async function callerOf(request: FastifyRequest, keys: KeyHolders): Promise<string> {
  const key = keyOf(request);
  const holder = key === undefined ? null : await keys.holderOf(key);
  if (holder === null) throw new DomainError('Unauthorized', 'the API key is not known');
  return holder;
}

function keyOf(request: FastifyRequest): string | undefined {
  return BEARER.exec(request.headers.authorization ?? '')?.[1];
}
