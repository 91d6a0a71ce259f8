import type { FastifyInstance } from 'fastify';
import { z } from 'zod';
import type { Ledger } from '../../ledger/ledger.ts';
import { route } from '../route.ts';
import { text, textOrNull, time } from '../schemas.ts';

const MAX_UNREAD = 100;

const passFields = {
  begunAt: time.describe('Time at which the pass began'),
  wallets: z.int().describe('Number of wallet comparisons; a wallet that was compared twice counts twice'),
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
    reason: text('Why the wallet could not be compared'),
    since: time.describe('Time of the first failed comparison since the last successful one'),
    askedAt: time.describe('Time of the last try to compare the wallet'),
  })
  .meta({ id: 'UnreadWallet' });

const ReconciliationBody = z
  .object({
    last: z
      .object({ ...passFields, endedAt: time.describe('Time at which the pass ended') })
      .meta({ id: 'EndedReconciliation' })
      .nullable()
      .describe('Last complete pass; null until a pass has completed'),
    open: z
      .object({
        ...passFields,
        after: textOrNull(
          'Last wallet of the previous round; the next round starts after it. Null before the first round',
        ),
        haltedBecause: textOrNull(
          'Why the newest round stopped early; null if the pass has progressed since it stopped, or if no round stopped early',
        ),
      })
      .meta({ id: 'OpenReconciliation' })
      .nullable()
      .describe('Current pass, which runs in hourly rounds; null between passes'),
    watched: z
      .int()
      .describe(
        'Number of watched wallets: hot wallets and deposit addresses. Exact below 10,000; from there on an estimate',
      ),
    unread: z.int().describe('Number of wallets whose last comparison failed'),
    longestUnread: z
      .array(UnreadBody)
      .readonly()
      .describe(
        `Up to ${MAX_UNREAD} of the wallets whose last comparison failed; the wallet that has failed for the longest time comes first`,
      ),
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
    handler: () => ledger.reconciliations.passes(MAX_UNREAD),
  });
}
