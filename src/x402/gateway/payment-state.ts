import type { FastifyPluginAsync } from 'fastify';
import type { Ledger } from '../../ledger/ledger.ts';

const SIGNATURE = /^[1-9A-HJ-NP-Za-km-z]{64,88}$/;

/** `GET /x402/payments/:signature`: a payment's state, for buyers without an API key. Excludes what it has bought. */
export function paymentStateRoute({ payments }: Pick<Ledger, 'payments'>): FastifyPluginAsync {
  return async (app) => {
    app.get('/x402/payments/:signature', async (request, reply) => {
      const { signature = '' } = request.params as { signature?: string };
      const payment = SIGNATURE.test(signature) ? await payments.findNamed(signature) : undefined;
      reply.header('cache-control', 'no-store').header('access-control-allow-origin', '*');
      if (payment === undefined)
        return reply.code(404).send({ error: 'there is no payment with this signature' });
      return { signature, state: payment.state };
    });
  };
}
