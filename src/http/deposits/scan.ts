import type { FastifyInstance } from 'fastify';
import { z } from 'zod';
import type { OperatorNote } from '../../domain/operator-note.ts';
import { GAP_STATES, HALTED, IN_PROGRESS, type ScanGap, WITHOUT_REPORT } from '../../domain/scan.ts';
import type { Ledger } from '../../ledger/ledger.ts';
import { route } from '../route.ts';
import { ReasonBody, text, textOrNull, time, u64 } from '../schemas.ts';
import { BackfillBody, presentBackfill, RangeBody } from './backfills.ts';

const tags = ['operations'];
const MAX_GAPS = 100;
const MAX_BACKFILLS = 100;
const range = z.object({
  from: u64.describe('First slot of the range'),
  to: u64.describe('Last slot of the range'),
});

const GapBody = range.extend({
  state: z
    .enum(GAP_STATES)
    .describe(
      '`open`: the gap stops the scan. `filled`: nodes returned the blocks. `closed`: an operator let the scan continue without the blocks',
    ),
  openedAt: time.describe('Time at which the gap was found'),
  endedAt: time.nullable().describe('Time at which the gap was closed or filled; null until then'),
  actor: textOrNull('Name of the API key or operator that closed the gap; null if the gap was not closed'),
  reason: textOrNull('Reason that was given for closing the gap; null if the gap was not closed'),
  readAt: time
    .nullable()
    .describe(
      'Time at which a rescan had read all blocks of the gap from a quorum of nodes; null until then',
    ),
}) satisfies z.ZodType<ScanGap>;

const scanFields = z.object({
  cursor: z
    .object({
      slot: u64.describe('Slot of the block'),
      blockhash: text('Hash of the block'),
      height: u64.describe('Height of the block'),
    })
    .nullable()
    .describe('Last block that was linked, scanned and committed; null before the first block'),
  tip: u64
    .nullable()
    .describe(
      'Newest slot that a quorum of nodes has finalized, as a worker last reported it; null without a report',
    ),
  lag: u64.nullable().describe('Number of slots from the cursor to the tip; null if one of them is null'),
  blocksPerSecond: z
    .number()
    .nullable()
    .describe(
      'Blocks per second in the newest report of a worker; null without a report, and while the scan is paused',
    ),
  at: time.nullable().describe('Time of the newest report of a worker; null if no worker has reported'),
  gaps: z
    .array(GapBody)
    .readonly()
    .describe(`Ranges of blocks that no node returned, newest first; at most ${MAX_GAPS}`),
  backfills: z
    .array(BackfillBody)
    .readonly()
    .describe(`Backfills that have not ended; at most ${MAX_BACKFILLS}`),
});
const stoppedFields = scanFields.extend({
  reason: text('Why the scan is stopped, for display'),
  since: time.describe('Time at which the scan stopped'),
});
const ScanBody = z
  .discriminatedUnion('state', [
    scanFields.extend({ state: z.enum(IN_PROGRESS).describe('The scan makes progress') }),
    stoppedFields.extend({
      state: z.enum(HALTED).describe('The scan is stopped until nodes recover or an operator acts'),
    }),
    stoppedFields.extend({
      state: z.literal('paused').describe('An operator paused the scan'),
      actor: text('Name of the API key or operator that paused the scan'),
    }),
    stoppedFields.extend({
      state: z
        .literal('gap')
        .describe('No node returns blocks that exist, or nodes return blocks that are not linked'),
      gap: range.describe('Slots of the missing blocks'),
    }),
    scanFields.extend({
      state: z.enum(WITHOUT_REPORT).describe('No worker reports, or no worker has started the scan'),
    }),
  ])
  .meta({ id: 'Scan' });

export function scanRoutes(app: FastifyInstance, { ledger }: { readonly ledger: Ledger }): void {
  route(app, 'GET', '/v1/scan', {
    operationId: 'getScan',
    tags,
    summary: 'Get the state of the scan',
    response: ScanBody,
    handler: () => overviewOf(ledger),
  });
  for (const { store, url, ...texts } of COMMANDS) {
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

const COMMANDS = [
  {
    operationId: 'pauseScan',
    url: '/v1/scan/pause',
    summary: 'Pause the scan of blocks',
    description: 'No further block is read until `POST /v1/scan/resume`.',
    store: ({ scanPauses }: Ledger, note: OperatorNote) => scanPauses.begin(note),
  },
  {
    operationId: 'resumeScan',
    url: '/v1/scan/resume',
    summary: 'Resume the scan of blocks',
    description: 'Changes nothing if the scan is not paused.',
    store: ({ scanPauses }: Ledger, note: OperatorNote) => scanPauses.end(note),
  },
] as const;

async function overviewOf({ scanStatus, gaps, backfills }: Ledger) {
  const [status, recorded, open] = await Promise.all([
    scanStatus.read(),
    gaps.list(MAX_GAPS),
    backfills.listOpen(MAX_BACKFILLS),
  ]);
  const gapsOfApi = recorded.map((gap) => ({ ...gap, from: gap.fromSlot, to: gap.toSlot }));
  return { ...status, gaps: gapsOfApi, backfills: open.map(presentBackfill) };
}
