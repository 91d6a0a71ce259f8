import Fastify, { type FastifyInstance } from 'fastify';
import type { FacilitatorDeps } from '../../../src/x402/facilitator/deps.ts';
import { facilitatorRoutes } from '../../../src/x402/facilitator/routes.ts';

/** A server with the facilitator under `/facilitator`. Close it before the ledger. */
export async function server(deps: FacilitatorDeps): Promise<FastifyInstance> {
  const app: FastifyInstance = Fastify({ bodyLimit: 2 * 1_024 * 1_024 });
  await app.register(facilitatorRoutes(deps), { prefix: '/facilitator' });
  await app.ready();
  return app;
}

export interface Answer {
  readonly status: number;
  readonly body: Readonly<Record<string, unknown>>;
}

export async function post(
  app: FastifyInstance,
  step: 'verify' | 'settle',
  payload: object | string,
  headers: Readonly<Record<string, string>> = {},
): Promise<Answer> {
  const response = await app.inject({
    method: 'POST',
    url: `/facilitator/${step}`,
    headers: { 'content-type': 'application/json', ...headers },
    payload,
  });
  return { status: response.statusCode, body: response.json<Answer['body']>() };
}
