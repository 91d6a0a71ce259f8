import type { FastifyInstance } from 'fastify';
import { z } from 'zod';
import { DEPOSIT_STATES, NOT_CREDITED_REASONS } from '../../domain/deposit.ts';
import { DomainError } from '../../domain/errors.ts';
import { type ExplorerSettings, explorerLink } from '../../domain/explorer.ts';
import type { DepositRow } from '../../ledger/deposits/deposit-row.ts';
import { publicDeposit } from '../../ledger/webhooks/events.ts';
import type { ChainDeps } from '../no-chain.ts';
import { pageOf, route } from '../route.ts';
import {
  addressParam,
  assetParam,
  pageQuery,
  position,
  ReasonBody,
  text,
  textOrNull,
  time,
  u64,
  userRef,
} from '../schemas.ts';
import { rejectDeposit } from './deposit-rejection.ts';

export interface DepositDeps extends ChainDeps {
  readonly explorer: ExplorerSettings;
}

const tags = ['deposits'];

const State = z.enum(DEPOSIT_STATES).meta({ id: 'DepositState' });

const DepositBody = z
  .object({
    id: text('Permanent id of the deposit. Use it as the idempotency key of your booking'),
    signature: text('Signature of the transaction in base58'),
    slot: u64.describe('Slot of the block'),
    blockhash: textOrNull(
      'Hash of the block; null if no node has the block and only the transaction is known',
    ),
    blockTime: time.nullable().describe('Time of the block as the nodes report it; null if unknown'),
    account: text('Account that received the deposit: the wallet for SOL, or else a token account'),
    wallet: text('Deposit address that received the deposit'),
    userRef: textOrNull(
      'Your id for the user to whom the address was assigned when the deposit arrived; null if it was not assigned',
    ),
    asset: text('`SOL` or the address of a mint'),
    amount: u64.describe('Received amount in base units'),
    state: State.describe('State of the deposit. Book a deposit only when it is `final`'),
    reason: z
      .enum(NOT_CREDITED_REASONS)
      .nullable()
      .describe(
        'Why the deposit is not credited. For a pending deposit: why it will not be credited if a quorum agrees with the node that reported it. Else null',
      ),
    explorerUrl: text('URL of the transaction in a block explorer'),
  })
  .readonly()
  .meta({ id: 'Deposit' });

const EventBody = z
  .object({
    sequence: u64.describe('Number of the event, starting at 1, in the order in which events became visible'),
    kind: State.describe('State that the deposit entered'),
    at: time.describe('Time of the event'),
    deposit: DepositBody.describe('State of the deposit at the time of the event'),
  })
  .readonly()
  .meta({ id: 'DepositEvent' });

const FeedBody = z
  .object({
    events: z.array(EventBody).readonly().describe('Events after `after`, oldest first'),
    next: u64.describe(
      'Pass it as `after` to get the following events. If it equals the `after` of this request, there are none yet',
    ),
  })
  .meta({ id: 'DepositFeed' });

const PageBody = pageOf('DepositPage', 'deposits', DepositBody);

const depositIdParam = z
  .string()
  .regex(/^dep_[0-9a-f]{32}$/, 'must be the id of a deposit: dep_ and 32 hexadecimal digits');

const DepositQuery = z.strictObject({
  after: position
    .optional()
    .describe(
      '`next` of the previous response, or the sequence of the last event that you have handled; 0 for all events',
    ),
  address: addressParam.optional().describe('Deposit address'),
  userRef: userRef.optional(),
  state: State.optional().describe('State of the deposit; with `after`, the `kind` of the event'),
  asset: assetParam.optional(),
  ...pageQuery,
});

export function depositRoutes(app: FastifyInstance, deps: DepositDeps): void {
  const { ledger, explorer } = deps;
  const present = presenter(explorer);
  depositRoute(app, deps);
  route(app, 'GET', '/v1/deposits', {
    operationId: 'listDeposits',
    tags,
    summary: 'List deposits, or follow their events',
    description:
      'With `after`: events, oldest first. Their sequence has no gaps, and no event is ever added below one that was returned. A request examines a limited number of events, so a filtered response can be empty: continue with `next`. `cursor` has no effect. Without `after`: deposits in their current state, newest first.',
    querystring: DepositQuery,
    response: z.union([FeedBody, PageBody]),
    handler: async ({ query: { after, ...query } }) => {
      if (after === undefined) {
        const { rows, nextCursor } = await ledger.deposits.list(query);
        return { deposits: rows.map(present), nextCursor };
      }
      const { limit, cursor: _cursor, ...filter } = query;
      const { events, next } = await ledger.depositFeed.events(after, limit, filter);
      return { events: events.map((event) => ({ ...event, deposit: present(event.deposit) })), next };
    },
  });
}

const presenter = (explorer: ExplorerSettings) => (row: DepositRow) => ({
  ...publicDeposit(row),
  explorerUrl: explorerLink(row.signature, explorer),
});

function depositRoute(app: FastifyInstance, deps: DepositDeps): void {
  const present = presenter(deps.explorer);
  route(app, 'POST', '/v1/deposits/:id/reject', {
    operationId: 'rejectDeposit',
    tags,
    summary: 'Reject a deposit that a quorum of nodes denies',
    description:
      'For a pending deposit that only one node reports as finalized. Sluice asks the nodes again; if no quorum denies the deposit, the response is 409 `NotRejectable`. A repeated request returns the same deposit.',
    params: z.object({ id: depositIdParam }),
    body: ReasonBody,
    response: DepositBody,
    handler: async ({ caller: actor, params: { id }, body }) =>
      present(await rejectDeposit(deps, id, { actor, reason: body.reason })),
  });
  route(app, 'GET', '/v1/deposits/:id', {
    operationId: 'getDeposit',
    tags,
    summary: 'Get a deposit in its current state',
    params: z.object({ id: depositIdParam }),
    response: DepositBody,
    handler: async ({ params: { id } }) => {
      const row = await deps.ledger.deposits.find(id);
      if (row === undefined) throw new DomainError('NotFound', `there is no deposit ${id}`, { id });
      return present(row);
    },
  });
}
