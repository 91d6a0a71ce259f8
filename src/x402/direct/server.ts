import { chmodSync, lstatSync, mkdtempSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import Fastify, { type FastifyInstance } from 'fastify';
import { z } from 'zod';
import { DomainError, messageOf } from '../../domain/errors.ts';
import { readSettleRequest, SETTLE_PATH } from './protocol.ts';
import type { DirectSettlements } from './settle.ts';

/** A request has up to 1 MiB of the buyer's body, or a static answer of the routes file, in base64. */
const BODY_LIMIT_BYTES = 8 * 1024 * 1024;
const OWNER_ONLY = 0o600;

/** Serves direct settlements on a Unix socket that only the user of this process can open. */
export async function serveDirect(
  settlements: Pick<DirectSettlements, 'settle'>,
  socketPath: string,
  warn: (error: unknown, message: string) => void,
): Promise<FastifyInstance> {
  const app = Fastify({ bodyLimit: BODY_LIMIT_BYTES });
  app.setErrorHandler((error, _request, reply) => {
    warn(error, 'a direct settlement failed: the workflow of the payment settles it');
    return reply.code(error instanceof z.ZodError ? 400 : 500).send({ error: messageOf(error) });
  });
  app.post(SETTLE_PATH, async ({ body }) => {
    return settlements.settle(readSettleRequest(body));
  });
  await listenOn(app, socketPath);
  return app;
}

/**
 * Listens under another name, and then renames the socket. So the path always leads to a server with the right mode, a
 * new worker replaces an old one without a gap, and the end of the old one leaves the new one's file alone.
 */
async function listenOn(app: FastifyInstance, socketPath: string): Promise<void> {
  const present = lstatSync(socketPath, { throwIfNoEntry: false });
  if (present !== undefined && !present.isSocket())
    throw new DomainError('InvalidRequest', `SLUICE_X402_SOCKET names ${socketPath}, which is not a socket`);
  const dir = ownDirectory(socketPath);
  try {
    const own = join(dir, 's');
    await app.listen({ path: own });
    chmodSync(own, OWNER_ONLY);
    renameSync(own, socketPath);
  } finally {
    rmSync(dir, { recursive: true });
  }
}

/** A directory beside the socket that only this user can enter. Throws InvalidRequest. */
function ownDirectory(socketPath: string): string {
  try {
    return mkdtempSync(`${socketPath}.`);
  } catch (error) {
    const message = `the directory of SLUICE_X402_SOCKET, ${socketPath}, must exist and be writable: ${messageOf(error)}`;
    throw new DomainError('InvalidRequest', message, {}, error);
  }
}
