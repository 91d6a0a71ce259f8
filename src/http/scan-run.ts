import { type Client, WorkflowNotFoundError } from '@temporalio/client';
import type { SignalDefinition } from '@temporalio/common';
import type { ScanGap, ScanStatus } from '../client/scan.ts';
import { DomainError } from '../domain/errors.ts';
import { depositScanWorkflowId, WORKFLOW_TASK_QUEUE } from '../domain/ids.ts';
import { type RescanOrder, rescanWorkflowId, type ScanView } from '../domain/scan.ts';
import type { GapRow } from '../ledger/gaps.ts';
import type { Ledger } from '../ledger/ledger.ts';
import { scanStatus } from '../workflows/messages.ts';

export interface ScanDeps {
  readonly ledger: Ledger;
  readonly temporal: Client;
  readonly cluster: string;
}

const ANSWER_DEADLINE_MS = 3_000;
const GAPS_SHOWN = 100;

/** Tells the run, and answers how it stood. @throws DomainError ScanAbsent, Unavailable */
export async function order<Order extends object>(
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

/**
 * Starts a run that reads the blocks of a range again, or joins the one that does; answers how the scan stood.
 *
 * @throws DomainError InvalidRequest for slots that are not scanned yet, Unavailable
 */
export async function startRescan(deps: ScanDeps, range: RescanOrder): Promise<ScanStatus> {
  const cursor = await deps.ledger.scan.cursor();
  if (cursor === null || BigInt(range.to) > cursor.slot) {
    const message = `to: the scan has come to ${cursor === null ? 'no slot yet' : `slot ${cursor.slot}`}`;
    throw new DomainError('InvalidRequest', message, { field: 'to' });
  }
  await deps.temporal.withDeadline(Date.now() + ANSWER_DEADLINE_MS, () =>
    deps.temporal.workflow.start('depositRescan', {
      workflowId: rescanWorkflowId(range),
      taskQueue: WORKFLOW_TASK_QUEUE,
      args: [range],
      workflowIdReusePolicy: 'ALLOW_DUPLICATE',
      workflowIdConflictPolicy: 'USE_EXISTING',
      staticSummary: `read slots ${range.from} to ${range.to} again`,
      staticDetails: `asked for by ${range.who}: ${range.why}`,
    }),
  );
  return statusOf(deps);
}

/** The record, which counts, and what the run adds where it answers. */
export async function statusOf(deps: ScanDeps): Promise<ScanStatus> {
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
