import type { FastifyInstance } from 'fastify';
import { z } from 'zod';
import { DomainError } from '../../domain/errors.ts';
import type { ExplorerSettings } from '../../domain/explorer.ts';
import { PAYMENT_STATES } from '../../domain/payment.ts';
import type { Ledger } from '../../ledger/ledger.ts';
import { mapPage } from '../../ledger/page.ts';
import type { PaymentRow } from '../../ledger/x402/payments.ts';
import { listRoute, route } from '../route.ts';
import { decimal, reason, text, textOrNull, time } from '../schemas.ts';
import { detailsOf, PaymentDetailsFields } from './payment-details.ts';
import { revenueRoute, saleFilter, withMint } from './revenue.ts';

const tags = ['payments'];
const units = decimal(z.string());

const paymentFields = {
  id: text('Id of the payment and of its Temporal workflow: `x402/<network>/<SHA-256 of the message>`'),
  state: z
    .enum(PAYMENT_STATES)
    .describe('State of the sale: whether the payment has settled and the resource was served'),
  reason: textOrNull(
    'Why the payment is `refundable` or `unmatched`, or which owed payment was served in place of this one; otherwise null',
  ),
  signature: textOrNull('Transaction signature in base58; null until the transaction is signed'),
  seller: z.enum(['gateway', 'facilitator']).describe('Part of Sluice that received the payment'),
  dialect: z
    .enum(['v2', 'v1', 'example', 'submitted'])
    .describe(
      'Protocol of the payment: `v2` or `v1` of x402; `example` and `submitted` are the two forms of the exchange interface, in which Sluice or the buyer submits the transaction',
    ),
  payer: text('Address of the wallet of the buyer'),
  network: text('Network as a CAIP-2 id'),
  asset: text('Address of the mint of the token'),
  decimals: z.int().describe('Number of decimals of the token'),
  amount: units.describe('Price in base units'),
  received: units
    .nullable()
    .describe('Base units that the landed transaction transferred; null until it has landed'),
  payTo: text('Address of the wallet of the seller'),
  route: text(
    'Id of the route, such as `GET /reports/:id`; `facilitator/<key>/<payTo>/<mint>` for a payment that the facilitator settled',
  ),
  answerStatus: z
    .number()
    .nullable()
    .describe('HTTP status of the upstream response; null until there is a response'),
  paidAt: time
    .nullable()
    .describe('Time at which a node reported the transaction as confirmed; null until then'),
  settledAt: time.nullable().describe('Time at which the transaction was final; null until then'),
  servedAt: time
    .nullable()
    .describe(
      'Time at which the response was stored, or the success was delivered; if the response is not stored, the end of its last delivery; null until then',
    ),
  createdAt: time.describe('Time at which Sluice first received the payment'),
};

const PaymentBody = z.object(paymentFields).meta({ id: 'Payment' });

const PaymentDetailsBody = z
  .object({ ...paymentFields, ...PaymentDetailsFields })
  .meta({ id: 'PaymentDetails' });

const RevokedBody = z
  .object({
    revoked: z.boolean().describe('True if this request revoked the pass; false if it was revoked before'),
  })
  .meta({ id: 'RevokedAccessPass' });

const id = z
  .string()
  .regex(/^[\x21-\x7e]{1,256}$/, 'must be the id, the message hash or the signature of a payment')
  .describe('Percent-encoded id, message hash in hex, or signature in base58');

export interface PaymentRouteDeps {
  readonly ledger: Ledger;
  readonly explorer: ExplorerSettings;
}

export function paymentRoutes(app: FastifyInstance, { ledger, explorer }: PaymentRouteDeps): void {
  listRoute(app, '/v1/payments', {
    operationId: 'listPayments',
    tags,
    summary: 'List x402 payments, newest first',
    pageId: 'PaymentPage',
    itemsField: 'payments',
    item: PaymentBody,
    filter: { state: z.enum(PAYMENT_STATES).optional(), ...saleFilter },
    find: async (query) => {
      const page = await ledger.payments.list(withMint(query, explorer.cluster));
      const signatures = await ledger.attempts.newestSignatures(page.rows.map((row) => row.id));
      return mapPage(page, (row) => present(row, signatures));
    },
  });
  route(app, 'GET', '/v1/payments/:id', {
    operationId: 'getPayment',
    tags,
    summary: 'Get an x402 payment, its settlement, its attempts and its access pass',
    params: z.object({ id }),
    response: PaymentDetailsBody,
    handler: async ({ params }) => {
      const row = await paymentOf(ledger, params.id);
      const signatures = await ledger.attempts.newestSignatures([row.id]);
      return { ...present(row, signatures), ...(await detailsOf(ledger, row, explorer)) };
    },
  });
  route(app, 'POST', '/v1/payments/:id/revoke', {
    operationId: 'revokeAccessPass',
    tags,
    summary: 'Revoke the access pass of an x402 payment for good',
    description:
      'Gateways refuse the pass, and the sign-in of its wallet by this payment, within a second. The payment and what it bought stay as they are. A payment that has no pass yet gets none.',
    params: z.object({ id }),
    body: z.strictObject({ reason }),
    response: RevokedBody,
    handler: async ({ caller: actor, params, body }) => {
      const row = await paymentOf(ledger, params.id);
      return { revoked: await ledger.accessPasses.revoke(row.id, { actor, reason: body.reason }) };
    },
  });
  revenueRoute(app, ledger, explorer.cluster);
}

async function paymentOf({ payments }: Pick<Ledger, 'payments'>, name: string): Promise<PaymentRow> {
  const row = await payments.findByName(name);
  if (row === undefined) throw new DomainError('NotFound', `there is no payment ${name}`);
  return row;
}

/** `signatures`: signature of the newest attempt by payment id. Without an attempt, the row itself has the signature. */
function present(row: PaymentRow, signatures: ReadonlyMap<string, string | null>) {
  const { network, asset, decimals, amount, payTo } = row.terms;
  return {
    ...row,
    network,
    asset,
    decimals,
    amount,
    payTo,
    signature: signatures.get(row.id) ?? row.signature,
  };
}
