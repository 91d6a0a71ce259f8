import type { FastifyInstance } from 'fastify';
import { z } from 'zod';
import { ADDRESS_TEXT } from '../../domain/address.ts';
import { formatUnits } from '../../domain/amount.ts';
import { usdcMint } from '../../domain/cluster.ts';
import { DomainError } from '../../domain/errors.ts';
import type { Ledger } from '../../ledger/ledger.ts';
import { REVENUE_KEYS, type RevenueKey, type RevenueSum } from '../../ledger/x402/revenue.ts';
import { route } from '../route.ts';
import { decimal, idParam, text, textOrNull, time, timeParam } from '../schemas.ts';

const USDC = 'USDC';
const ASSET_TEXT = new RegExp(`^${USDC}$|${ADDRESS_TEXT.source}`);

/** Conditions on payments, as query parameters. */
export const saleFilter = {
  route: z
    .string()
    .min(1)
    .max(1_024)
    .refine((id) => !id.includes('\0'), 'must not contain a NUL character')
    .meta({ pattern: '^[^\\u0000]+$' })
    .optional()
    .describe('Id of the route, such as `GET /reports/:id`'),
  payer: idParam.optional().describe('Address of the wallet of the buyer'),
  asset: z
    .string()
    .regex(ASSET_TEXT, 'must be USDC or the address of a mint')
    .optional()
    .describe('Address of the mint of the token, or `USDC`'),
  seller: z.enum(['gateway', 'facilitator']).optional().describe('Part of Sluice that received the payment'),
  from: timeParam
    .optional()
    .describe('Only payments that Sluice first received at this time or later; a date begins in UTC'),
  to: timeParam
    .optional()
    .describe('Only payments that Sluice first received before this time; a date begins in UTC'),
};

/** The filter with the mint of `USDC` on this cluster in place of the name. */
export function withMint<Filter extends { readonly asset?: string | undefined }>(
  filter: Filter,
  cluster: string,
): Filter {
  return filter.asset === USDC ? { ...filter, asset: usdcMint(cluster) } : filter;
}

const DAY_MS = 86_400_000;
const DEFAULT_DAYS = 30;
const MAX_DAYS = 366;

const RevenueQuery = z.strictObject({
  by: z
    .enum(['route', 'day', 'route,day', 'day,route'])
    .optional()
    .describe('Separate sums for each route, for each UTC day, or both. Default: neither'),
  ...saleFilter,
});

const sumOf = (which: string) =>
  z
    .object({
      payments: z.int().describe('Number of payments'),
      units: decimal(z.string()).describe('Sum in base units'),
      amount: text('Sum in the token, with the decimals of its mint'),
    })
    .describe(`Payments whose transaction is ${which}`);

const RevenueBody = z
  .object({
    from: time.describe('Beginning of the period'),
    to: time.describe('End of the period'),
    revenue: z
      .array(
        z.object({
          route: textOrNull('Id of the route; null if `by` does not have `route`'),
          day: textOrNull('Day in UTC, such as `2026-11-01`; null if `by` does not have `day`'),
          asset: text('Address of the mint of the token'),
          decimals: z.int().describe('Number of decimals of the token'),
          finalized: sumOf('finalized'),
          confirmed: sumOf('confirmed, which a fork can still remove'),
        }),
      )
      .readonly()
      .describe('Sums for each asset, ordered by day, route and asset'),
  })
  .meta({ id: 'Revenue' });

export function revenueRoute(app: FastifyInstance, ledger: Ledger, cluster: string): void {
  route(app, 'GET', '/v1/payments/revenue', {
    operationId: 'getRevenue',
    tags: ['payments'],
    summary: 'Sum up the revenue of x402 payments',
    description: `Counts payments that are served or owed, at the amount that was received. Payments to be refunded, unmatched payments, and payments that moved no money do not count. The period is at most ${MAX_DAYS} days; default: the last ${DEFAULT_DAYS} days in UTC, today included.`,
    querystring: RevenueQuery,
    response: RevenueBody,
    handler: async ({ query: { by, ...filter } }) => {
      const period = periodOf(filter);
      const keys = REVENUE_KEYS.filter((key: RevenueKey) => by?.split(',').includes(key));
      const rows = await ledger.payments.revenue({ ...withMint(filter, cluster), ...period, by: keys });
      return { ...period, revenue: rows.map((row) => ({ ...row, ...amountsOf(row) })) };
    },
  });
}

interface Sums {
  readonly decimals: number;
  readonly finalized: RevenueSum;
  readonly confirmed: RevenueSum;
}

function amountsOf({ decimals, finalized, confirmed }: Sums) {
  const withAmount = (sum: RevenueSum) => ({ ...sum, amount: formatUnits(sum.units, decimals) });
  return { finalized: withAmount(finalized), confirmed: withAmount(confirmed) };
}

/** Throws InvalidRequest. */
function periodOf({
  from,
  to = new Date(),
}: {
  readonly from?: Date | undefined;
  readonly to?: Date | undefined;
}) {
  const day = Math.ceil(to.getTime() / DAY_MS) - DEFAULT_DAYS;
  const period = { from: from ?? new Date(day * DAY_MS), to };
  const length = period.to.getTime() - period.from.getTime();
  if (length >= 0 && length <= MAX_DAYS * DAY_MS) return period;
  const message = `from must be before to, by at most ${MAX_DAYS} days`;
  throw new DomainError('InvalidRequest', message, { field: 'from' });
}
