import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod';
import { z } from 'zod';
import type { Payment, PaymentPage } from '../../client/payments.ts';
import { DomainError } from '../../domain/errors.ts';
import { PAYMENT_STATES } from '../../domain/payment.ts';
import type { Ledger } from '../../ledger/ledger.ts';
import type { PaymentRow } from '../../ledger/x402/payments.ts';
import { nextCursor, pageQuery, problems, time } from '../schemas.ts';

const tags = ['payments'];
const units = z.string();

const PaymentBody = z
  .object({
    id: z
      .string()
      .describe('`x402/<network>/<SHA-256 of the message>`; also the id of the Temporal workflow'),
    state: z
      .enum(PAYMENT_STATES)
      .describe('State of the sale: whether the payment has settled and the resource was served'),
    reason: z
      .string()
      .nullable()
      .describe('Why the payment is `refundable` or `unmatched`; null in every other state'),
    signature: z.string().nullable().describe('Transaction signature in base58; null until signed'),
    seller: z.enum(['gateway', 'facilitator']).describe('The part of Sluice that settled the payment'),
    dialect: z
      .enum(['v2', 'v1', 'example', 'submitted'])
      .describe(
        'Protocol of the payment: x402 version 2 or 1, or one of the two forms of the exchange interface',
      ),
    payer: z.string().describe('Wallet of the buyer'),
    network: z.string().describe('Network as a CAIP-2 id'),
    asset: z.string().describe('Address of the mint'),
    amount: units.describe('Price in base units'),
    received: units
      .nullable()
      .describe('Base units that the landed transaction transferred; null until it has landed'),
    payTo: z.string().describe('Wallet of the seller'),
    route: z
      .string()
      .describe(
        'Id of the route, such as `GET /reports/:id`; `facilitator/<payTo>` for a payment that the facilitator settled',
      ),
    answerStatus: z
      .number()
      .nullable()
      .describe('HTTP status of the upstream response; null until there is one'),
    paidAt: time
      .nullable()
      .describe('Time at which a node first reported the transaction as confirmed; null until then'),
    servedAt: time
      .nullable()
      .describe('Time at which the response was stored, or the success was delivered; null until then'),
    createdAt: time.describe('Time at which Sluice first received the payment'),
  })
  .meta({ id: 'Payment' }) satisfies z.ZodType<Payment>;

const PaymentPageBody = z
  .object({ payments: z.array(PaymentBody).readonly().describe('Newest first'), nextCursor })
  .meta({ id: 'PaymentPage' }) satisfies z.ZodType<PaymentPage>;

const id = z
  .string()
  .regex(/^[\x21-\x7e]{1,256}$/, 'must be an id, a message hash or a signature')
  .describe('Percent-encoded id, message hash in hex, or signature in base58');

export function paymentRoutes({ ledger }: { readonly ledger: Ledger }): FastifyPluginAsyncZod {
  return async (app) => {
    app.route({
      method: 'GET',
      url: '/v1/payments',
      schema: {
        operationId: 'listPayments',
        tags,
        summary: 'List x402 payments, newest first',
        querystring: z.strictObject({ state: z.enum(PAYMENT_STATES).optional(), ...pageQuery }),
        response: { 200: PaymentPageBody, ...problems },
      },
      handler: async ({ query }) => {
        const { rows, nextCursor: next } = await ledger.payments.list(query);
        const signatures = await ledger.attempts.newestSignatures(rows.map((row) => row.id));
        return { payments: rows.map((row) => present(row, signatures)), nextCursor: next };
      },
    });
    app.route({
      method: 'GET',
      url: '/v1/payments/:id',
      schema: {
        operationId: 'getPayment',
        tags,
        summary: 'Get an x402 payment',
        params: z.object({ id }),
        response: { 200: PaymentBody, ...problems },
      },
      handler: async ({ params }) => {
        const row = await ledger.payments.findNamed(params.id);
        if (row === undefined) throw new DomainError('NotFound', `there is no payment ${params.id}`);
        const signatures = await ledger.attempts.newestSignatures([row.id]);
        return present(row, signatures);
      },
    });
  };
}

/** `signatures` maps a payment to the signature of its newest attempt. A payment that bought nothing has no attempt. */
function present(row: PaymentRow, signatures: ReadonlyMap<string, string | null>): Payment {
  const { network, asset, amount, payTo } = row.terms;
  return {
    id: row.id,
    state: row.state,
    reason: row.reason,
    signature: signatures.get(row.id) ?? row.signature,
    seller: row.seller,
    dialect: row.dialect,
    payer: row.payer,
    network,
    asset,
    amount,
    received: row.received?.toString() ?? null,
    payTo,
    route: row.route,
    answerStatus: row.answerStatus,
    paidAt: row.paidAt?.toISOString() ?? null,
    servedAt: row.servedAt?.toISOString() ?? null,
    createdAt: row.createdAt.toISOString(),
  };
}
