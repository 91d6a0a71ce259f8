import { HTTPFacilitatorClient } from '@x402/core/server';
import { paymentMiddleware, x402ResourceServer } from '@x402/express';
import { SOLANA_DEVNET_CAIP2 } from '@x402/svm';
import { ExactSvmScheme } from '@x402/svm/exact/server';
import express from 'express';
import { type HttpServer, startHttp } from '../support/http.ts';

export interface PeerServerOptions {
  readonly facilitatorUrl: string;
  /** A wallet, not its token account. */
  readonly payTo: string;
  /** Default: {@link PRICED} in devnet's USDC. */
  readonly price?: string | { readonly asset: string; readonly amount: string };
}

/** The priced route of the server, its price in base units of devnet's USDC, and its body. */
export const PRICED = { path: '/weather', amount: 1000n, body: { report: 'sunny' } } as const;

/** Serves {@link PRICED} with the official middleware, which verifies and settles payments with the facilitator at `facilitatorUrl`. */
export async function startPeerServer({
  facilitatorUrl,
  payTo,
  price = '$0.001',
}: PeerServerOptions): Promise<HttpServer> {
  const facilitator = new HTTPFacilitatorClient({ url: facilitatorUrl });
  const resources = new x402ResourceServer(facilitator).register('solana:*', new ExactSvmScheme());
  const accepts = { scheme: 'exact', network: SOLANA_DEVNET_CAIP2, payTo, price } as const;
  const app = express();
  app.use(paymentMiddleware({ [`GET ${PRICED.path}`]: { accepts } }, resources));
  app.get(PRICED.path, (_request, response) => void response.json(PRICED.body));
  return startHttp(async (request, response) => void app(request, response));
}
