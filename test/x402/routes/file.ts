import { isDomainError } from '../../../src/domain/errors.ts';
import type { RoutesContext } from '../../../src/x402/routes/faults.ts';
import { readRoutes } from '../../../src/x402/routes/read-routes.ts';
import type { PricedRoute, Route } from '../../../src/x402/routes/route.ts';
import { NETWORKS } from '../../../src/x402/terms.ts';

export const WALLET = '9B5XszUGdMaxCZ7uSQhPzdks5ZQSmWxrmzCSvtJ6Ns6g';
export const MINT = 'So11111111111111111111111111111111111111112';
export const { usdc: USDC } = NETWORKS.devnet;
export const UPSTREAM = 'http://127.0.0.1:9000';

/** A complete entry with a price and these other keys. */
export const priced = (path: string, more: object = {}) => ({
  path,
  price: '0.001',
  upstream: UPSTREAM,
  ...more,
});
export const free = (path: string, more: object = {}) => ({ path, free: true, upstream: UPSTREAM, ...more });

export const DEVNET = { network: NETWORKS.devnet, facilitatorPath: '/facilitator' };

export function read(
  entries: readonly unknown[],
  top: object = { payTo: WALLET },
  place: RoutesContext = DEVNET,
): readonly Route[] {
  return readRoutes(JSON.stringify({ ...top, routes: entries }), place, 'test.json');
}

/** The one route of a file with this entry. */
export function readOne(entry: object): PricedRoute {
  const [route] = read([entry]);
  if (route?.kind !== 'priced') throw new Error('the entry has no price');
  return route;
}

/** The faults of a file, each with its place. */
export function faultsOf(
  entries: readonly unknown[],
  top?: object,
  place?: RoutesContext,
): readonly string[] {
  try {
    read(entries, top, place);
  } catch (error) {
    if (isDomainError(error, 'InvalidRequest')) return error.context['faults'] as readonly string[];
    throw error;
  }
  return [];
}
