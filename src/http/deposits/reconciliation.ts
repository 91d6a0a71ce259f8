import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod';
import { z } from 'zod';
import type { Reconciliation } from '../../client/reconciliation.ts';
import type { Ledger } from '../../ledger/ledger.ts';
import type { PassesView } from '../../ledger/reconciliation/reconciliations.ts';
import { problems, time } from '../schemas.ts';

const UNREAD_SHOWN = 100;

const compared = {
  begunAt: time.describe('Start of the pass'),
  wallets: z.int().describe('Number of comparisons; a wallet that was compared again counts again'),
  accounts: z.int().describe('Number of accounts compared, each for SOL or a token'),
  differences: z
    .int()
    .describe(
      'Number of accounts whose balance did not match the recorded changes; each raised the alert `balance_difference`',
    ),
};

const UnreadBody = z.object({
  wallet: z.string().describe('Address of the wallet'),
  reason: z.string().describe('Why it could not be compared'),
  since: time.describe('Time since which the wallet could not be compared'),
  askedAt: time.describe('Time of the last try'),
});

const ReconciliationBody = z
  .object({
    last: z
      .object({ ...compared, endedAt: time.describe('End of the pass') })
      .nullable()
      .describe('Last complete pass; null until there is one'),
    open: z
      .object({
        ...compared,
        after: z
          .string()
          .nullable()
          .describe(
            'Last wallet of the previous round; the next round starts after it. Null before the first round',
          ),
        haltedBecause: z.string().nullable().describe('Why the last round stopped early; null if it did not'),
      })
      .nullable()
      .describe('Current pass, which runs in hourly rounds; null between passes'),
    watched: z
      .int()
      .describe('Number of watched wallets: hot wallets and deposit addresses. An estimate above 100,000'),
    unread: z.int().describe('Number of wallets whose last comparison failed'),
    longestUnread: z
      .array(UnreadBody)
      .readonly()
      .describe(`Up to ${UNREAD_SHOWN} of these wallets, longest first`),
  })
  .meta({ id: 'Reconciliation' }) satisfies z.ZodType<Reconciliation>;

export function reconciliationRoute({ ledger }: { readonly ledger: Ledger }): FastifyPluginAsyncZod {
  return async (app) => {
    app.route({
      method: 'GET',
      url: '/v1/reconciliation',
      schema: {
        operationId: 'getReconciliation',
        tags: ['operations'],
        summary: 'Get the reconciliation of balances',
        description:
          'Sluice compares the balances on chain with the database. If `last` and `open` are both null, no chain worker has run a round yet.',
        response: { 200: ReconciliationBody, ...problems },
      },
      handler: async () => present(await ledger.reconciliations.passes(UNREAD_SHOWN)),
    });
  };
}

function present({ last, open, watched, unread, longestUnread }: PassesView): Reconciliation {
  return {
    last: last && { ...last, begunAt: last.begunAt.toISOString(), endedAt: last.endedAt.toISOString() },
    open: open && { ...open, begunAt: open.begunAt.toISOString() },
    watched,
    unread,
    longestUnread: longestUnread.map(({ since, askedAt, ...one }) => ({
      ...one,
      since: since.toISOString(),
      askedAt: askedAt.toISOString(),
    })),
  };
}
