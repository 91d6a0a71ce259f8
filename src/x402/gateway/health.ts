import { setTimeout as sleep } from 'node:timers/promises';
import type { FastifyPluginAsync } from 'fastify';
import type { Ledger } from '../../ledger/ledger.ts';
import { TtlCache } from '../../solana/rpc/ttl-cache.ts';
import type { RouteOffers } from './offers.ts';

const PING_DEADLINE_MS = 2_000;
/** The path is public, so its requests share a call of the database. */
const PING_SHARED_MS = 1_000;

/**
 * `GET /healthz` of the gateway, for load balancers: 200 if PostgreSQL responds and a priced route is open, otherwise
 * 503. `reasons`: why routes are closed, each once.
 */
export function gatewayHealthRoute(
  ledger: Pick<Ledger, 'ping'>,
  offers: Pick<RouteOffers, 'all'>,
): FastifyPluginAsync {
  const pings = new TtlCache<boolean>(PING_SHARED_MS, 1);
  return async (app) => {
    app.route({
      method: ['GET', 'HEAD'],
      url: '/healthz',
      handler: async (_request, reply) => {
        const database = await pings.get('', () => isAnswering(ledger));
        const all = offers.all();
        const reasons = all.flatMap((offer) => (offer.kind === 'closed' ? [offer.reason] : []));
        const open = all.length - reasons.length;
        const ok = database && (open > 0 || all.length === 0);
        const routes = { priced: all.length, open };
        const body = { status: ok ? 'ok' : 'unavailable', database, routes, reasons: [...new Set(reasons)] };
        return reply
          .code(ok ? 200 : 503)
          .header('cache-control', 'no-store')
          .send(body);
      },
    });
  };
}

function isAnswering(ledger: Pick<Ledger, 'ping'>): Promise<boolean> {
  const answered = ledger.ping().then(
    () => true,
    () => false,
  );
  return Promise.race([answered, sleep(PING_DEADLINE_MS, false, { ref: false })]);
}
