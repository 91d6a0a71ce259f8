import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod';
import { z } from 'zod';
import type { ScanOverview } from '../client/scan.ts';
import { GAP_STATES, GOING_ON, type ScanGap, STANDING_STILL, UNTOLD } from '../domain/scan.ts';
import { RangeBody, RescanBody, rescanRoutes } from './rescans.ts';
import { overviewOf, pause, resume, type ScanDeps } from './scan-run.ts';
import { problems, time, u64, why } from './schemas.ts';

const tags = ['operations'];
const range = z.object({ from: u64, to: u64 });

const GapBody = range.extend({
  state: z.enum(GAP_STATES),
  openedAt: time,
  endedAt: time.nullable(),
  who: z.string().nullable(),
  why: z.string().nullable(),
  auditedAt: time.nullable(),
  unshownSince: time.nullable().meta({
    description: 'Since when audits of it settle nothing: no quorum of nodes has shown blocks of these slots',
  }),
}) satisfies z.ZodType<ScanGap>;

const told = z.object({
  cursor: z.object({ slot: u64, blockhash: z.string(), height: u64 }).nullable(),
  tip: u64.nullable(),
  lag: u64.nullable(),
  blocksPerSecond: z.number().nullable(),
  at: time.nullable(),
  gaps: z.array(GapBody).readonly(),
  rescans: z.array(RescanBody).readonly(),
});
const standstill = told.extend({ why: z.string(), since: time });
const ScanBody = z
  .discriminatedUnion('state', [
    told.extend({ state: z.enum(GOING_ON) }),
    standstill.extend({ state: z.enum(STANDING_STILL) }),
    standstill.extend({ state: z.literal('paused'), who: z.string() }),
    standstill.extend({ state: z.literal('gap'), gap: range }),
    told.extend({ state: z.enum(UNTOLD) }),
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
