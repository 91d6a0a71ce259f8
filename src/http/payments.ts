import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod';
import { z } from 'zod';
import type { Payment, PaymentPage } from '../client/payments.ts';
import { DomainError } from '../domain/errors.ts';
import { PAYMENT_STATES } from '../domain/payment.ts';
import type { Ledger } from '../ledger/ledger.ts';
import type { PaymentRow } from '../ledger/payments.ts';
import { nextCursor, pageQuery, problems, time } from './schemas.ts';

const tags = ['payments'];
const units = z.string().describe('Base units, decimal');

const PaymentBody = z
  .object({
    id: z.string().describe('`x402/<network>/<sha256 of the message>`, also the id of its workflow'),
    state: z.enum(PAYMENT_STATES).describe('What it has bought so far'),
    reason: z.string().nullable().describe('Why it is refundable or unmatched'),
    signature: z.string().nullable().describe('base58; null until it is signed'),
    seller: z.enum(['gateway', 'facilitator']).describe('Which of the two has settled it'),
    dialect: z
      .enum(['v2', 'v1', 'example', 'submitted'])
      .describe('How the buyer has paid: x402 version 2 or 1, or one of the two forms of the interface'),
    payer: z.string().describe('Owner of the money'),
    network: z.string().describe('CAIP-2'),
    asset: z.string().describe('Mint'),
    amount: units.describe('What was asked for, in base units'),
    received: units.nullable().describe('What arrived, by the landed transaction'),
    payTo: z.string().describe('Wallet that is paid'),
    route: z
      .string()
      .describe(
        'Id of the route, as `GET /reports/:id`; `facilitator/<payTo>` where the facilitator has settled it',
      ),
    answerStatus: z.number().nullable().describe("Status of the upstream's answer"),
    paidAt: time.nullable().describe('When a node first showed it confirmed'),
    servedAt: time.nullable().describe('When its answer was stored, or its success delivered'),
    createdAt: time.describe('When it was shown here first'),
  })
  .meta({ id: 'Payment' }) satisfies z.ZodType<Payment>;

const PaymentPageBody = z
  .object({ payments: z.array(PaymentBody).readonly().describe('Newest first'), nextCursor })
  .meta({ id: 'PaymentPage' }) satisfies z.ZodType<PaymentPage>;

const id = z
  .string()
  .regex(/^[\x21-\x7e]{1,256}$/, 'must be an id, a message hash or a signature')
  .describe('Id, percent-encoded; or message hash (hex), or signature (base58)');

/** `GET /v1/payments`, and one of them: payments of x402, for operators. */
export function paymentRoutes({ ledger }: { readonly ledger: Ledger }): FastifyPluginAsyncZod {
  return async (app) => {
    app.route({
      method: 'GET',
      url: '/v1/payments',
      schema: {
        tags,
        summary: 'List payments of x402, newest first',
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
        tags,
        summary: 'One payment, and what it has bought',
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

/** `signatures`: those of newest attempts, by payment; a payment that bought nothing has no attempt. */
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
