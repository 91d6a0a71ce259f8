import { type Client, WorkflowNotFoundError } from '@temporalio/client';
import type { SignalDefinition } from '@temporalio/common';
import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod';
import { z } from 'zod';
import type { ScanGap, ScanStatus } from '../client/scan.ts';
import { DomainError } from '../domain/errors.ts';
import { depositScanWorkflowId } from '../domain/ids.ts';
import type { ScanView } from '../domain/scan.ts';
import type { GapRow } from '../ledger/gaps.ts';
import type { Ledger } from '../ledger/ledger.ts';
import { pauseScan, rescanRange, resumeScan, scanStatus } from '../workflows/messages.ts';
import { position, problems, time, u64, why } from './schemas.ts';

export interface ScanDeps {
  readonly ledger: Ledger;
  readonly temporal: Client;
  readonly cluster: string;
}

const ANSWER_DEADLINE_MS = 3_000;
const GAPS_SHOWN = 100;
const tags = ['operations'];
const range = z.object({ from: u64, to: u64 });

const GapBody = range.extend({
  state: z.enum(['open', 'filled', 'closed']),
  openedAt: time,
  endedAt: time.nullable(),
  who: z.string().nullable(),
  why: z.string().nullable(),
  auditedAt: time.nullable(),
}) satisfies z.ZodType<ScanGap>;

const ScanBody = z
  .object({
    state: z.enum([
      'starting',
      'tail',
      'catch-up',
      'paused',
      'gap',
      'waiting',
      'stopped',
      'silent',
      'absent',
    ]),
    cursor: z.object({ slot: u64, blockhash: z.string(), height: u64 }).nullable(),
    tip: u64.nullable(),
    lag: u64.nullable(),
    blocksPerSecond: z.number().nullable(),
    gap: range.nullable(),
    why: z.string().nullable(),
    at: time.nullable(),
    gaps: z.array(GapBody).readonly(),
  })
  .meta({ id: 'Scan' }) satisfies z.ZodType<ScanStatus>;

const WhyBody = z.strictObject({ why });
const RangeBody = z
  .strictObject({ from: position, to: position, why })
  .refine(({ from, to }) => from <= to, { error: 'must not be below `from`', path: ['to'] });

/** Routes of `/v1/scan`: how the scan of blocks stands, and what operators may ask of it, in the name of the API key. */
export function scanRoutes(deps: ScanDeps): FastifyPluginAsyncZod {
  return async (app) => {
    const response = { 200: ScanBody, ...problems };
    app.route({
      method: 'GET',
      url: '/v1/scan',
      schema: { tags, summary: 'How the scan of blocks stands', response },
      handler: () => statusOf(deps),
    });
    for (const { url, summary, signal } of ORDERS) {
      app.route({
        method: 'POST',
        url,
        schema: { tags, summary, body: WhyBody, response },
        handler: async ({ caller: who, body }) => order(deps, signal, { who, why: body.why }),
      });
    }
    app.route({
      method: 'POST',
      url: '/v1/scan/rescan',
      schema: {
        tags,
        summary: 'Read committed blocks again',
        description:
          'What was missed is added; nothing is taken back. Slots from `from` to `to`, both included.',
        body: RangeBody,
        response,
      },
      handler: ({ caller: who, body }) => rescan(deps, who, body),
    });
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
        return statusOf(deps);
      },
    });
  };
}

const ORDERS = [
  { url: '/v1/scan/pause', summary: 'Read no more blocks until resumed', signal: pauseScan },
  { url: '/v1/scan/resume', summary: 'End a pause of the scan', signal: resumeScan },
] as const;

/** @throws DomainError InvalidRequest for slots that are not scanned yet, ScanAbsent */
async function rescan(
  deps: ScanDeps,
  who: string,
  body: { readonly from: bigint; readonly to: bigint; readonly why: string },
): Promise<ScanStatus> {
  const cursor = await deps.ledger.scan.cursor();
  if (cursor === null || body.to > cursor.slot) {
    const message = `to: the scan has come to ${cursor === null ? 'no slot yet' : `slot ${cursor.slot}`}`;
    throw new DomainError('InvalidRequest', message, { field: 'to' });
  }
  return order(deps, rescanRange, { who, why: body.why, from: body.from.toString(), to: body.to.toString() });
}

/** Tells the run, and answers how it stood. @throws DomainError ScanAbsent, Unavailable */
async function order<Order extends object>(
  deps: ScanDeps,
  signal: SignalDefinition<[Order]>,
  given: Order,
): Promise<ScanStatus> {
  try {
    await deps.temporal.withDeadline(Date.now() + ANSWER_DEADLINE_MS, () =>
      handleOf(deps).signal(signal, given),
    );
  } catch (error) {
    if (!(error instanceof WorkflowNotFoundError)) throw error;
    throw new DomainError('ScanAbsent', `no scan of ${deps.cluster} is running: a chain worker starts it`);
  }
  return statusOf(deps);
}

/** The record, which counts, and what the run adds where it answers. */
async function statusOf(deps: ScanDeps): Promise<ScanStatus> {
  const { ledger } = deps;
  const [told, cursor, gaps] = await Promise.all([
    ask(deps),
    ledger.scan.cursor(),
    ledger.gaps.list(GAPS_SHOWN),
  ]);
  const open = gaps.find(({ state }) => state === 'open');
  const { tip, blocksPerSecond, why: said, at } = told.view ?? NOTHING_TOLD;
  return {
    state: told.state,
    cursor:
      cursor === null
        ? null
        : { slot: cursor.slot.toString(), blockhash: cursor.blockhash, height: cursor.height.toString() },
    tip,
    lag: tip === null || cursor === null ? null : above(BigInt(tip), cursor.slot).toString(),
    blocksPerSecond,
    gap: open === undefined ? null : { from: open.fromSlot.toString(), to: open.toSlot.toString() },
    why: said,
    at,
    gaps: gaps.map(presentGap),
  };
}

const NOTHING_TOLD = { tip: null, blocksPerSecond: null, why: null, at: null };

function above(tip: bigint, slot: bigint): bigint {
  return tip > slot ? tip - slot : 0n;
}

interface Told {
  readonly state: ScanStatus['state'];
  readonly view: ScanView | null;
}

/** Asks the run; `silent` where it does not answer in time, whatever the cause. */
async function ask(deps: ScanDeps): Promise<Told> {
  const handle = handleOf(deps);
  try {
    return await deps.temporal.withDeadline(Date.now() + ANSWER_DEADLINE_MS, async () => {
      // A run that has ended still answers questions, as it was.
      const { status } = await handle.describe();
      if (status.name !== 'RUNNING') return { state: 'absent', view: null };
      const view = await handle.query(scanStatus);
      return { state: view.state, view };
    });
  } catch (error) {
    return { state: error instanceof WorkflowNotFoundError ? 'absent' : 'silent', view: null };
  }
}

function handleOf({ temporal, cluster }: ScanDeps) {
  return temporal.workflow.getHandle(depositScanWorkflowId(cluster));
}

function presentGap(row: GapRow): ScanGap {
  return {
    from: row.fromSlot.toString(),
    to: row.toSlot.toString(),
    state: row.state,
    openedAt: row.openedAt.toISOString(),
    endedAt: row.endedAt?.toISOString() ?? null,
    who: row.who,
    why: row.why,
    auditedAt: row.auditedAt?.toISOString() ?? null,
  };
}
