import type { FastifyInstance } from 'fastify';
import { z } from 'zod';
import type { Ledger } from '../../ledger/ledger.ts';
import { route } from '../route.ts';
import { text, textOrNull, time } from '../schemas.ts';

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

const UnreadBody = z
  .object({
    wallet: text('Address of the wallet'),
    reason: text('Why it could not be compared'),
    since: time.describe('Time since which the wallet could not be compared'),
    askedAt: time.describe('Time of the last try'),
  })
  .meta({ id: 'UnreadWallet' });

const ReconciliationBody = z
  .object({
    last: z
      .object({ ...compared, endedAt: time.describe('End of the pass') })
      .meta({ id: 'EndedReconciliation' })
      .nullable()
      .describe('Last complete pass; null until there is one'),
    open: z
      .object({
        ...compared,
        after: textOrNull(
          'Last wallet of the previous round; the next round starts after it. Null before the first round',
        ),
        haltedBecause: textOrNull('Why the last round stopped early; null if it did not'),
      })
      .meta({ id: 'OpenReconciliation' })
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
  .meta({ id: 'Reconciliation' });

export function reconciliationRoute(app: FastifyInstance, { ledger }: { readonly ledger: Ledger }): void {
  route(app, 'GET', '/v1/reconciliation', {
    operationId: 'getReconciliation',
    tags: ['operations'],
    summary: 'Get the reconciliation of balances',
    description:
      'Sluice compares the balances on chain with the database. If `last` and `open` are both null, no chain worker has run a round yet.',
    response: ReconciliationBody,
    handler: () => ledger.reconciliations.passes(UNREAD_SHOWN),
  });
}
