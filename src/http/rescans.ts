import type { Client } from '@temporalio/client';
import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod';
import { z } from 'zod';
import type { RescanPage } from '../client/scan.ts';
import { RESCAN_STATES, type Rescan, type RescanOrder } from '../domain/rescan.ts';
import { rangeOf, slotsOf } from '../domain/slots.ts';
import type { Ledger } from '../ledger/ledger.ts';
import type { RescanRow } from '../ledger/rescans.ts';
import { startRescan } from '../platform/start-rescan.ts';
import { inOrder, nextCursor, outOfOrder, pageQuery, position, problems, time, u64, why } from './schemas.ts';
import { refuseAsRecorded } from './temporal-faults.ts';

interface RescanDeps {
  readonly ledger: Ledger;
  readonly temporal: Client;
}

const count = z.int().nonnegative();

export const RescanBody = z
  .object({
    from: u64.describe('The first slot'),
    to: u64.describe('The last slot'),
    who: z.string().describe('Who asked for it'),
    why: z.string().describe('Why they did'),
    state: z
      .enum(RESCAN_STATES)
      .describe(
        '`waiting`: its newest try failed by `trouble`, and it is tried again. `given_up`: it ended by `trouble` before all was read. `incomplete`: it has ended, and of closed gaps nodes did not show the slots `unread`',
      ),
    readTo: u64
      .nullable()
      .describe('All of it up to this slot is read, but for gaps; null before the first block'),
    blocks: count.describe('Read so far'),
    found: count.describe('Deposits in them that were not on record; they are now'),
    unread: z
      .array(z.object({ from: u64.describe('The first slot'), to: u64.describe('The last slot') }))
      .readonly()
      .describe('Slots of closed gaps whose blocks nodes did not show; empty before it has ended'),
    trouble: z.string().nullable().describe('What its newest try failed by; null where nothing did'),
    begunAt: time.describe('When it was asked for'),
    endedAt: time.nullable().describe('When it was done or given up; null before'),
  })
  .meta({ id: 'Rescan' }) satisfies z.ZodType<Rescan>;

const RescanPageBody = z
  .object({
    rescans: z.array(RescanBody).readonly().describe('Newest first'),
    nextCursor,
  })
  .meta({ id: 'RescanPage' }) satisfies z.ZodType<RescanPage>;

/** Two slots, both ends included, and a reason. */
export const RangeBody = z
  .strictObject({
    from: position.describe('The first slot'),
    to: position.describe('The last slot'),
    why,
  })
  .refine(inOrder, outOfOrder);

/** `POST /v1/scan/rescan`, in the name of the API key, and `GET /v1/scan/rescans`: what came of each. */
export function rescanRoutes(deps: RescanDeps): FastifyPluginAsyncZod {
  const tags = ['operations'];
  return async (app) => {
    app.route({
      method: 'POST',
      url: '/v1/scan/rescan',
      schema: {
        tags,
        summary: 'Read committed blocks again, both ends included',
        description:
          'What was missed is added; nothing is taken back. Answers the rescan that begins, or the one of the same slots that has not ended. Refused, not shortened, where the record has not all of it: 400 with `field` `from` names the first slot on record, with `to` the slot that the scan has come to.',
        body: RangeBody,
        response: { 200: RescanBody, ...problems },
      },
      handler: ({ caller: who, body }) => beginRescan(deps, { ...rangeOf(body), who, why: body.why }),
    });
    app.route({
      method: 'GET',
      url: '/v1/scan/rescans',
      schema: {
        tags,
        summary: 'How far each rescan is, and what it came to, newest first',
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

/** @throws DomainError InvalidRequest for slots of which the record has not all headers; Unavailable */
async function beginRescan({ ledger, temporal }: RescanDeps, order: RescanOrder): Promise<Rescan> {
  const begun = await ledger.rescans.begin({ ...order, ...slotsOf(order) });
  await startRescan(temporal, order).catch(refuseAsRecorded('the rescan'));
  return presentRescan(begun);
}

export function presentRescan(row: RescanRow): Rescan {
  const { fromSlot, toSlot, who, why, readTo, blocks, found, unread, trouble, begunAt, endedAt } = row;
  return {
    from: fromSlot.toString(),
    to: toSlot.toString(),
    who,
    why,
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
