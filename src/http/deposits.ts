import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod';
import { z } from 'zod';
import type { Deposit, DepositEvent, DepositPage } from '../client/deposits.ts';
import { DEPOSIT_STATES, NOT_CREDITED_REASONS } from '../domain/deposit.ts';
import { type ExplorerSettings, explorerLink } from '../domain/explorer.ts';
import type { DepositEvent as EventRow } from '../ledger/deposit-feed.ts';
import type { DepositRow } from '../ledger/deposit-row.ts';
import { publicDeposit } from '../ledger/news.ts';
import { type RejectionDeps, rejectDeposit } from './deposit-rejection.ts';
import {
  addressParam,
  assetParam,
  nextCursor,
  pageQuery,
  position,
  problems,
  time,
  u64,
  userRef,
  why,
} from './schemas.ts';

export interface DepositDeps extends RejectionDeps {
  readonly explorer: ExplorerSettings;
}

const State = z.enum(DEPOSIT_STATES).meta({ id: 'DepositState' });

const DepositBody = z
  .object({
    id: z.string().describe('Ours, for ever: book under it, and nothing is booked twice'),
    signature: z.string().describe('The transaction, base58'),
    slot: u64.describe('Slot of its block'),
    blockhash: z
      .string()
      .nullable()
      .describe('Of its block; null where the block could not be had, and only the transaction shows it'),
    blockTime: time
      .nullable()
      .describe('When the block was made, by the word of the nodes; null where none is known'),
    account: z.string().describe('The wallet for SOL, else its token account'),
    wallet: z.string().describe('The wallet of ours that it came to'),
    userRef: z
      .string()
      .nullable()
      .describe('Whose wallet it was when this arrived; null where it was nobody’s then: no user’s to have'),
    asset: z.string().describe('`SOL`, or the address of a mint'),
    amount: u64.describe('Base units that arrived'),
    state: State.describe('Where it is; only `final` is booked'),
    reason: z
      .enum(NOT_CREDITED_REASONS)
      .nullable()
      .describe('Why it is not credited, or, while it is pending, will not be by one node’s word; else null'),
    explorerUrl: z.string().describe('Page of the transaction in a block explorer'),
  })
  .readonly()
  .meta({ id: 'Deposit' }) satisfies z.ZodType<Deposit>;

const EventBody = z
  .object({
    sequence: u64.describe('Counts all events in the order in which they became visible, from 1 on'),
    kind: State.describe('The state that it came into: that of `deposit`'),
    at: time.describe('When it did'),
    deposit: DepositBody.describe('The deposit as it was then'),
  })
  .readonly()
  .meta({ id: 'DepositEvent' }) satisfies z.ZodType<DepositEvent>;

const FeedBody = z
  .object({
    events: z.array(EventBody).readonly().describe('What followed `after`, oldest first'),
    next: u64.describe(
      'Pass it as `after` for what follows: all up to it was looked at. Nothing follows by now where it is the `after` of this call, and only there',
    ),
  })
  .meta({ id: 'DepositFeed' });

const PageBody = z
  .object({ deposits: z.array(DepositBody).readonly().describe('Newest first'), nextCursor })
  .meta({ id: 'DepositPage' }) satisfies z.ZodType<DepositPage>;

const depositIdParam = z
  .string()
  .regex(/^dep_[0-9a-f]{32}$/, 'must be the id of a deposit: dep_ and 32 hexadecimal digits');

const DepositQuery = z
  .strictObject({
    after: position
      .optional()
      .describe('`next` of the look before, or the sequence of the last event that you have; 0 for all'),
    address: addressParam.optional().describe('The wallet'),
    userRef: userRef.optional(),
    state: State.optional().describe('With `after`: the state that the event tells of'),
    asset: assetParam.optional(),
    ...pageQuery,
  })
  .refine(({ after, cursor }) => after === undefined || cursor === undefined, {
    error: 'goes with the list, not with `after`',
    path: ['cursor'],
  });

/**
 * `GET /v1/deposits`: with `after` the feed of everything that becomes of deposits, without it the deposits as they are.
 * `POST /v1/deposits/{id}/reject`: the end of one that a node made up.
 */
export function depositRoutes(deps: DepositDeps): FastifyPluginAsyncZod {
  const { ledger, explorer } = deps;
  return async (app) => {
    app.route({
      method: 'POST',
      url: '/v1/deposits/:id/reject',
      schema: {
        tags: ['deposits'],
        summary: 'Drop a deposit that a quorum of nodes denies',
        description:
          'Only one that is final on chain by the word of one node, and still pending. The nodes are asked now: 409 `NotRejectable` where no quorum of them denies it. Repeated, it answers the same.',
        params: z.object({ id: depositIdParam }),
        body: z.strictObject({ why }),
        response: { 200: DepositBody, ...problems },
      },
      handler: async ({ caller: who, params: { id }, body }) =>
        presentDeposit(await rejectDeposit(deps, id, { who, why: body.why }), explorer),
    });
    app.route({
      method: 'GET',
      url: '/v1/deposits',
      schema: {
        tags: ['deposits'],
        summary: 'What users have paid',
        description:
          'With `after`: events, oldest first, by a sequence without gaps: no event ever appears below one that you have seen. One call looks at so many events at most, so that a filter may let none of them through: go on with `next`. Without: deposits as they are now, newest first.',
        querystring: DepositQuery,
        response: { 200: z.union([FeedBody, PageBody]), ...problems },
      },
      handler: async ({ query: { after, ...query } }) => {
        if (after === undefined) {
          const { rows, nextCursor } = await ledger.deposits.list(query);
          return { deposits: rows.map((row) => presentDeposit(row, explorer)), nextCursor };
        }
        const { limit, cursor: _cursor, ...filter } = query;
        const { events, next } = await ledger.depositFeed.events(after, limit, filter);
        return { events: events.map((event) => presentEvent(event, explorer)), next: next.toString() };
      },
    });
  };
}

function presentEvent({ sequence, kind, at, deposit }: EventRow, explorer: ExplorerSettings): DepositEvent {
  return {
    sequence: sequence.toString(),
    kind,
    at: at.toISOString(),
    deposit: presentDeposit(deposit, explorer),
  };
}

function presentDeposit(row: DepositRow, explorer: ExplorerSettings): Deposit {
  return { ...publicDeposit(row), explorerUrl: explorerLink(row.signature, explorer) };
}
