import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod';
import { z } from 'zod';
import type { ReconciledWallets, Reconciliation } from '../client/reconciliation.ts';
import type { Ledger } from '../ledger/ledger.ts';
import type { PassesView } from '../ledger/passes.ts';
import { problems, time, u64 } from './schemas.ts';

const UNREAD_SHOWN = 100;

const compared = {
  begunAt: time.describe('When the pass began'),
  wallets: z.int().describe('Wallets that were compared; one that was asked for again counts again'),
  accounts: z.int().describe('Accounts of theirs, each for SOL or for a token'),
  differences: z
    .int()
    .describe(
      'How often an account held something else than what came and went: each was the alert `balance_difference`',
    ),
  slots: z
    .object({
      from: u64.describe('The lowest'),
      to: u64.describe('The highest'),
    })
    .nullable()
    .describe('Finalized slots at which wallets were compared; null where none was'),
};

const UnreadBody = z.object({
  wallet: z.string().describe('Its address'),
  why: z.string().describe('Why no quorum of nodes shows what it holds'),
  since: time.describe('Since when it could not be compared'),
  askedAt: time.describe('When it was last asked for'),
});

const ReconciliationBody = z
  .object({
    last: z
      .object({ ...compared, endedAt: time.describe('When the pass ended') })
      .nullable()
      .describe('The last pass that ended; null until the first has'),
    open: z
      .object({
        ...compared,
        after: z.string().nullable().describe('The wallet behind which it goes on; null at its beginning'),
        haltedBecause: z
          .string()
          .nullable()
          .describe(
            'Why its last round ended before the pass did; null where none was ended since the last wallets',
          ),
      })
      .nullable()
      .describe('The pass under way, over as many hourly rounds as it takes; null between two'),
    watched: z
      .int()
      .describe(
        'Wallets that are watched: those that we pay from, and deposit addresses; above 100,000 an estimate',
      ),
    unread: z.int().describe('Wallets that could not be compared when they were last asked for'),
    longestUnread: z
      .array(UnreadBody)
      .readonly()
      .describe(`Up to ${UNREAD_SHOWN} of them, those that wait for the longest time first`),
  })
  .meta({ id: 'Reconciliation' }) satisfies z.ZodType<Reconciliation>;

/** `GET /v1/reconciliation`: how far the balances of our wallets are held against the record, and what that came to. */
export function reconciliationRoute({ ledger }: { readonly ledger: Ledger }): FastifyPluginAsyncZod {
  return async (app) => {
    app.route({
      method: 'GET',
      url: '/v1/reconciliation',
      schema: {
        tags: ['operations'],
        summary: 'How far balances on chain are held against the record',
        description:
          'Where `last` and `open` are both null, that was never begun: no chain worker has run a round yet.',
        response: { 200: ReconciliationBody, ...problems },
      },
      handler: async () => present(await ledger.reconciliations.passes(UNREAD_SHOWN)),
    });
  };
}

function present({ last, open, watched, unread, longestUnread }: PassesView): Reconciliation {
  return {
    last: last && { ...presentCompared(last), endedAt: last.endedAt.toISOString() },
    open: open && { ...presentCompared(open), after: open.after, haltedBecause: open.haltedBecause },
    watched,
    unread,
    longestUnread: longestUnread.map(({ wallet, why, since, askedAt }) => ({
      wallet,
      why,
      since: since.toISOString(),
      askedAt: askedAt.toISOString(),
    })),
  };
}

function presentCompared({
  begunAt,
  wallets,
  accounts,
  differences,
  slots,
}: ComparedPass): ReconciledWallets {
  return {
    begunAt: begunAt.toISOString(),
    wallets,
    accounts,
    differences,
    slots: slots && { from: slots.from.toString(), to: slots.to.toString() },
  };
}

type ComparedPass = NonNullable<PassesView['last'] | PassesView['open']>;
