import type { FastifyInstance } from 'fastify';
import { z } from 'zod';
import type { OperatorNote } from '../../domain/operator-note.ts';
import {
  GAP_STATES,
  HALTED_SCAN_STATES,
  READING_SCAN_STATES,
  type ScanGap,
  UNREPORTED_SCAN_STATES,
} from '../../domain/scan.ts';
import type { Ledger } from '../../ledger/ledger.ts';
import { route } from '../route.ts';
import { ReasonBody, text, textOrNull, time, u64 } from '../schemas.ts';
import { BackfillBody, presentBackfill, RangeBody } from './backfills.ts';

const tags = ['operations'];
const GAPS_SHOWN = 100;
const BACKFILLS_SHOWN = 100;
const range = z.object({ from: u64.describe('First slot'), to: u64.describe('Last slot') });

const GapBody = range.extend({
  state: z
    .enum(GAP_STATES)
    .describe(
      '`open`: the gap stops the scan. `closed`: an operator let the scan continue without these blocks',
    ),
  openedAt: time.describe('Time at which the gap was found'),
  endedAt: time.nullable().describe('Time at which the gap was closed or filled; null until then'),
  actor: textOrNull('Name of the API key or operator that closed the gap; null if it was not closed'),
  reason: textOrNull('Reason for closing it; null if it was not closed'),
  readAt: time
    .nullable()
    .describe('Time at which a rescan had read all its blocks from a quorum of nodes; null until then'),
}) satisfies z.ZodType<ScanGap>;

const position = z.object({
  cursor: z
    .object({
      slot: u64.describe('Slot'),
      blockhash: text('Blockhash'),
      height: u64.describe('Block height'),
    })
    .nullable()
    .describe('Last block that was linked, scanned and committed; null before the first'),
  tip: u64
    .nullable()
    .describe(
      'Newest slot that a quorum of nodes has finalized, from the last report of a worker; null without a report',
    ),
  lag: u64.nullable().describe('Number of slots from the cursor to the tip'),
  blocksPerSecond: z
    .number()
    .nullable()
    .describe('Speed in the newest report; null without a report and while paused'),
  at: time.nullable().describe('Time of the newest report; null without a report'),
  gaps: z.array(GapBody).readonly().describe('Ranges of blocks that no node returned, newest first'),
  backfills: z.array(BackfillBody).readonly().describe('Backfills that have not ended'),
});
const standstill = position.extend({
  reason: text('Why the scan is stopped, for display'),
  since: time.describe('Time since which the scan is stopped'),
});
const ScanBody = z
  .discriminatedUnion('state', [
    position.extend({ state: z.enum(READING_SCAN_STATES).describe('The scan makes progress') }),
    standstill.extend({
      state: z
        .enum(HALTED_SCAN_STATES)
        .describe('The scan is stopped until nodes recover or an operator acts'),
    }),
    standstill.extend({
      state: z.literal('paused').describe('An operator paused the scan'),
      actor: text('Name of the API key or operator that paused the scan'),
    }),
    standstill.extend({
      state: z
        .literal('gap')
        .describe('No node returns blocks that exist, or nodes return blocks that are not linked'),
      gap: range.describe('Slots of the missing blocks'),
    }),
    position.extend({
      state: z.enum(UNREPORTED_SCAN_STATES).describe('No worker reports, or no worker has started the scan'),
    }),
  ])
  .meta({ id: 'Scan' });

/** Routes of `/v1/scan`: status and operator actions. The name of the API key is stored with each action. */
export function scanRoutes(app: FastifyInstance, { ledger }: { readonly ledger: Ledger }): void {
  route(app, 'GET', '/v1/scan', {
    operationId: 'getScan',
    tags,
    summary: 'Get the state of the scan',
    response: ScanBody,
    handler: () => overviewOf(ledger),
  });
  for (const { store, url, ...texts } of ORDERS) {
    route(app, 'POST', url, {
      ...texts,
      tags,
      body: ReasonBody,
      response: ScanBody,
      handler: async ({ caller: actor, body }) => {
        await store(ledger, { actor, reason: body.reason });
        return overviewOf(ledger);
      },
    });
  }
  route(app, 'POST', '/v1/scan/close-gap', {
    operationId: 'closeScanGap',
    tags,
    summary: 'Close the open gap',
    description:
      'The scan continues without the blocks of the gap. `from` and `to` must be the ends of the gap. Sluice rescans these slots until a quorum of nodes has returned their blocks. The name of the API key and the reason are stored.',
    body: RangeBody,
    response: ScanBody,
    handler: async ({ caller: actor, body }) => {
      await ledger.gaps.close({ ...body, actor });
      return overviewOf(ledger);
    },
  });
}

const ORDERS = [
  {
    operationId: 'pauseScan',
    url: '/v1/scan/pause',
    summary: 'Pause the scan of blocks',
    description: 'No further block is read until `POST /v1/scan/resume`.',
    store: ({ scanPauses }: Ledger, order: OperatorNote) => scanPauses.begin(order),
  },
  {
    operationId: 'resumeScan',
    url: '/v1/scan/resume',
    summary: 'Resume the scan of blocks',
    description: 'Changes nothing if the scan is not paused.',
    store: ({ scanPauses }: Ledger, order: OperatorNote) => scanPauses.end(order),
  },
] as const;

async function overviewOf({ scanStatus, gaps, backfills }: Ledger) {
  const [status, recorded, open] = await Promise.all([
    scanStatus.read(),
    gaps.list(GAPS_SHOWN),
    backfills.open(BACKFILLS_SHOWN),
  ]);
  const named = recorded.map((gap) => ({ ...gap, from: gap.fromSlot, to: gap.toSlot }));
  return { ...status, gaps: named, backfills: open.map(presentBackfill) };
}
