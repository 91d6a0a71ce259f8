import Fastify, { type FastifyInstance } from 'fastify';
import { afterAll, beforeAll } from 'vitest';
import type { FacilitatorDeps } from '../../../src/x402/facilitator/facilitator.ts';
import { facilitatorRoutes } from '../../../src/x402/facilitator/routes.ts';
import { useLedger } from '../../ledger/support.ts';
import { SellingFixture } from './selling-fixture.ts';

/** A server with the facilitator under `/facilitator`. Close it before the ledger. */
export async function facilitatorServer(deps: FacilitatorDeps): Promise<FastifyInstance> {
  const app: FastifyInstance = Fastify({ bodyLimit: 2 * 1_024 * 1_024 });
  await app.register(facilitatorRoutes(deps), { prefix: '/facilitator' });
  await app.ready();
  return app;
}

export interface FacilitatorAnswer {
  readonly status: number;
  readonly body: Readonly<Record<string, unknown>>;
}

export async function post(
  app: FastifyInstance,
  step: 'verify' | 'settle',
  payload: object | string,
  headers: Readonly<Record<string, string>> = {},
): Promise<FacilitatorAnswer> {
  const response = await app.inject({
    method: 'POST',
    url: `/facilitator/${step}`,
    headers: { 'content-type': 'application/json', ...headers },
    payload,
  });
  return { status: response.statusCode, body: response.json<FacilitatorAnswer['body']>() };
}

/** A facilitator on a chain and a ledger of its own, for the tests of one file. */
export function useFacilitator() {
  const use = useLedger();
  let selling: SellingFixture | undefined;
  let app: FastifyInstance | undefined;
  beforeAll(async () => {
    selling = await SellingFixture.open(use.ledger);
    app = await facilitatorServer(selling.deps());
  });
  afterAll(async () => {
    await app?.close();
    await selling?.close();
  });
  return {
    get ledger() {
      return use.ledger;
    },
    get selling() {
      return started(selling);
    },
    get app() {
      return started(app);
    },
  };
}

function started<T>(part: T | undefined): T {
  if (part === undefined) throw new Error('the facilitator opens before the first test');
  return part;
}
