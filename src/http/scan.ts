import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod';
import { z } from 'zod';
import type { ScanOverview } from '../client/scan.ts';
import { GAP_STATES, GOING_ON, type ScanGap, STANDING_STILL, UNTOLD } from '../domain/scan.ts';
import { RangeBody, RescanBody, rescanRoutes } from './rescans.ts';
import { overviewOf, pause, resume, type ScanDeps } from './scan-run.ts';
import { problems, time, u64, why } from './schemas.ts';

const tags = ['operations'];
const range = z.object({ from: u64.describe('The first slot'), to: u64.describe('The last slot') });

const GapBody = range.extend({
  state: z.enum(GAP_STATES).describe('`open` holds the scan; `closed`: people went on without these blocks'),
  openedAt: time.describe('When it was found'),
  endedAt: time.nullable().describe('When it was closed or filled; null before'),
  who: z.string().nullable().describe('Who closed it; null where nobody did'),
  why: z.string().nullable().describe('Why they did'),
  auditedAt: time.nullable().describe('When every address was audited over it; null before'),
  unshownSince: time
    .nullable()
    .describe('Since when audits of it settle nothing: no quorum of nodes has shown blocks of these slots'),
}) satisfies z.ZodType<ScanGap>;

const told = z.object({
  cursor: z
    .object({
      slot: u64.describe('Its slot'),
      blockhash: z.string().describe('Its hash'),
      height: u64.describe('Its block height'),
    })
    .nullable()
    .describe('The last block that was linked, scanned and committed; null before the first'),
  tip: u64
    .nullable()
    .describe(
      'The newest slot that a quorum of nodes has finalized, by what a worker told last; null where none tells',
    ),
  lag: u64.nullable().describe('Slots from the cursor to the tip'),
  blocksPerSecond: z
    .number()
    .nullable()
    .describe('Over the newest report; null before one, and while paused'),
  at: time.nullable().describe('When a worker said so; null where none did'),
  gaps: z.array(GapBody).readonly().describe('Blocks that no node showed, newest first'),
  rescans: z.array(RescanBody).readonly().describe('Those that have not ended'),
});
const standstill = told.extend({
  why: z.string().describe('Why it stands still, for people'),
  since: time.describe('Since when it does'),
});
const ScanBody = z
  .discriminatedUnion('state', [
    told.extend({ state: z.enum(GOING_ON).describe('It goes on') }),
    standstill.extend({
      state: z.enum(STANDING_STILL).describe('It stands until nodes or people help it on'),
    }),
    standstill.extend({
      state: z.literal('paused').describe('People have paused it'),
      who: z.string().describe('Who did'),
    }),
    standstill.extend({
      state: z
        .literal('gap')
        .describe('No node shows blocks that exist, or nodes show blocks that do not link'),
      gap: range.describe('Where they lie'),
    }),
    told.extend({ state: z.enum(UNTOLD).describe('No worker tells how it stands, or none has started it') }),
  ])
  .meta({ id: 'Scan' }) satisfies z.ZodType<ScanOverview>;

const response = { 200: ScanBody, ...problems };
const WhyBody = z.strictObject({ why });

/** Routes of `/v1/scan`: how the scan of blocks stands, and what operators may ask of it, in the name of the API key. */
export function scanRoutes(deps: ScanDeps): FastifyPluginAsyncZod {
  return async (app) => {
    app.route({
      method: 'GET',
      url: '/v1/scan',
      schema: { tags, summary: 'How the scan of blocks stands', response },
      handler: () => overviewOf(deps),
    });
    for (const { url, summary, give } of ORDERS) {
      app.route({
        method: 'POST',
        url,
        schema: { tags, summary, body: WhyBody, response },
        handler: ({ caller: who, body }) => give(deps, { who, why: body.why }),
      });
    }
    app.route({
      method: 'POST',
      url: '/v1/scan/close-gap',
      schema: {
        tags,
        summary: 'Go on without the blocks of the open gap',
        description: 'Who and why stay on record, and every address is audited over these slots.',
        body: RangeBody,
        response,
      },
      handler: async ({ caller: who, body }) => {
        await deps.ledger.gaps.close({ ...body, who });
        return overviewOf(deps);
      },
    });
    await app.register(rescanRoutes(deps));
  };
}

const ORDERS = [
  { url: '/v1/scan/pause', summary: 'Read no more blocks until resumed', give: pause },
  { url: '/v1/scan/resume', summary: 'End a pause of the scan', give: resume },
] as const;
