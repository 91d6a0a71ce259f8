import type { Client } from '@temporalio/client';
import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod';
import { z } from 'zod';
import type { RescanPage } from '../../client/scan.ts';
import { RESCAN_STATES, type Rescan, type RescanOrder } from '../../domain/rescan.ts';
import { rangeOf, slotsOf } from '../../domain/slots.ts';
import type { Ledger } from '../../ledger/ledger.ts';
import type { RescanRow } from '../../ledger/scan/rescans.ts';
import { startRescan } from '../../platform/temporal/start-rescan.ts';
import { inOrder, nextCursor, pageQuery, position, problems, reason, time, u64 } from '../schemas.ts';
import { refuseAsRecorded } from '../temporal-errors.ts';

export interface RescanDeps {
  readonly ledger: Ledger;
  readonly temporal: Client;
}

const count = z.int().nonnegative();

export const RescanBody = z
  .object({
    from: u64.describe('First slot'),
    to: u64.describe('Last slot'),
    actor: z.string().describe('Name of the API key or operator that requested the rescan'),
    reason: z.string().describe('Reason for the rescan'),
    state: z
      .enum(RESCAN_STATES)
      .describe(
        '`waiting`: the last try failed because of `trouble`; Sluice tries again. `given_up`: the rescan ended early because of `trouble`. `incomplete`: the rescan has ended, but nodes did not return the blocks of the slots in `unread`',
      ),
    readTo: u64
      .nullable()
      .describe('Slot up to which blocks are read, apart from gaps; null before the first block'),
    blocks: count.describe('Number of blocks read'),
    found: count.describe('Number of missing deposits that were found and recorded'),
    unread: z
      .array(z.object({ from: u64.describe('First slot'), to: u64.describe('Last slot') }))
      .readonly()
      .describe('Slots of closed gaps whose blocks no node returned; empty until the rescan has ended'),
    trouble: z.string().nullable().describe('Why the last try failed; null if it did not'),
    begunAt: time.describe('Time of the request'),
    endedAt: time.nullable().describe('Time at which the rescan ended; null until then'),
  })
  .meta({ id: 'Rescan' }) satisfies z.ZodType<Rescan>;

const RescanPageBody = z
  .object({
    rescans: z.array(RescanBody).readonly().describe('Newest first'),
    nextCursor,
  })
  .meta({ id: 'RescanPage' }) satisfies z.ZodType<RescanPage>;

/** A range of slots, both ends inclusive, and a reason. */
export const RangeBody = z
  .strictObject({
    from: position.describe('First slot'),
    to: position.describe('Last slot'),
    reason,
  })
  .transform(inOrder);

/** `POST /v1/scan/rescan` and `GET /v1/scan/rescans`. The name of the API key is stored with each rescan. */
export function rescanRoutes(deps: RescanDeps): FastifyPluginAsyncZod {
  const tags = ['operations'];
  return async (app) => {
    app.route({
      method: 'POST',
      url: '/v1/scan/rescan',
      schema: {
        operationId: 'startRescan',
        tags,
        summary: 'Start a rescan of committed blocks',
        description:
          'Reads the blocks between `from` and `to` again, both included, in either order. Missing deposits are added; no deposit is removed. If a rescan of the same slots is running, the response describes that one. 409 `SlotsNotRecorded`: the database does not hold all of these slots. Its `detail` names the first or the last slot that it holds.',
        body: RangeBody,
        response: { 200: RescanBody, ...problems },
      },
      handler: ({ caller: actor, body }) =>
        beginRescan(deps, { ...rangeOf(body), actor, reason: body.reason }),
    });
    app.route({
      method: 'GET',
      url: '/v1/scan/rescans',
      schema: {
        operationId: 'listRescans',
        tags,
        summary: 'List rescans, newest first',
        querystring: z.strictObject(pageQuery),
        response: { 200: RescanPageBody, ...problems },
      },
      handler: async ({ query }) => {
        const { rows, nextCursor } = await deps.ledger.rescans.list(query);
        return { rescans: rows.map(presentRescan), nextCursor };
      },
    });
  };
}

/** @throws DomainError InvalidRequest for slots without a stored header; Unavailable */
async function beginRescan({ ledger, temporal }: RescanDeps, order: RescanOrder): Promise<Rescan> {
  const begun = await ledger.rescans.begin({ ...order, ...slotsOf(order) });
  await startRescan(temporal, order).catch(refuseAsRecorded('the rescan'));
  return presentRescan(begun);
}

export function presentRescan(row: RescanRow): Rescan {
  const { fromSlot, toSlot, actor, reason, readTo, blocks, found, unread, trouble, begunAt, endedAt } = row;
  return {
    from: fromSlot.toString(),
    to: toSlot.toString(),
    actor,
    reason,
    state: stateOf(row),
    readTo: readTo?.toString() ?? null,
    blocks,
    found,
    unread,
    trouble,
    begunAt: begunAt.toISOString(),
    endedAt: endedAt?.toISOString() ?? null,
  };
}

function stateOf({ trouble, endedAt, unread }: RescanRow): Rescan['state'] {
  if (endedAt === null) return trouble === null ? 'reading' : 'waiting';
  if (trouble !== null) return 'given_up';
  return unread.length === 0 ? 'done' : 'incomplete';
}
