import { type Client, WorkflowNotFoundError } from '@temporalio/client';
import type { ScanOverview } from '../../client/scan.ts';
import { isOutdated, positionOf } from '../../deposits/scan/progress-view.ts';
import { depositScanWorkflowId } from '../../domain/ids.ts';
import type { OperatorNote } from '../../domain/operator-note.ts';
import type { ScanGap, ScanPosition, ScanStatus } from '../../domain/scan.ts';
import type { Ledger } from '../../ledger/ledger.ts';
import type { GapRow } from '../../ledger/scan/gaps.ts';
import type { ScanPauseRow } from '../../ledger/scan/scan-pauses.ts';
import { scanStatus } from '../../workflows/messages.ts';
import { presentBackfill } from './backfills.ts';

export interface ScanDeps {
  readonly ledger: Ledger;
  readonly temporal: Client;
  readonly cluster: string;
}

const ANSWER_DEADLINE_MS = 3_000;
const GAPS_SHOWN = 100;
const BACKFILLS_SHOWN = 100;

/** Stores the pause, which every worker obeys. Returns the scan's status. */
export async function pause(deps: ScanDeps, order: OperatorNote): Promise<ScanOverview> {
  await deps.ledger.scanPauses.begin(order);
  return overviewOf(deps);
}

export async function resume(deps: ScanDeps, order: OperatorNote): Promise<ScanOverview> {
  await deps.ledger.scanPauses.end(order);
  return overviewOf(deps);
}

/** Status from the database, which is authoritative, and from the workflow if it answers. */
export async function overviewOf(deps: ScanDeps): Promise<ScanOverview> {
  const { ledger } = deps;
  const [told, cursor, paused, gaps, backfills] = await Promise.all([
    ask(deps),
    ledger.scan.cursor(),
    ledger.scanPauses.open(),
    ledger.gaps.list(GAPS_SHOWN),
    ledger.backfills.open(BACKFILLS_SHOWN),
  ]);
  const { tip } = told;
  return {
    ...standOnRecord(told, paused, gaps),
    ...positionOf(cursor, tip === null ? null : BigInt(tip)),
    gaps: gaps.map(presentGap),
    backfills: backfills.map(presentBackfill),
  };
}

/** Corrects the workflow's status by the database: a workflow receives operator orders some seconds later. */
function standOnRecord(
  told: ScanStatus,
  paused: ScanPauseRow | undefined,
  gaps: readonly GapRow[],
): ScanStatus {
  if (paused !== undefined) {
    const { actor, reason, since } = paused;
    const position = { ...positionIn(told), blocksPerSecond: null };
    return { ...position, state: 'paused', actor, reason, since: since.toISOString() };
  }
  const open = gaps.find(({ state }) => state === 'open');
  const isOver = told.state === 'paused' || (told.state === 'gap' && open === undefined);
  return isOver ? { ...positionIn(told), state: 'starting' } : told;
}

function positionIn({ cursor, tip, lag, blocksPerSecond, at }: ScanStatus): ScanPosition {
  return { cursor, tip, lag, blocksPerSecond, at };
}

const NOTHING_TOLD = { cursor: null, tip: null, lag: null, blocksPerSecond: null, at: null };

/** Queries the workflow. `silent` if it does not answer in time, or has had no worker report for long. */
async function ask(deps: ScanDeps): Promise<ScanStatus> {
  const handle = handleOf(deps);
  try {
    return await deps.temporal.withDeadline(Date.now() + ANSWER_DEADLINE_MS, async () => {
      // A completed workflow still answers queries with its last state.
      const { status } = await handle.describe();
      if (status.name !== 'RUNNING') return { ...NOTHING_TOLD, state: 'absent' };
      const told = await handle.query(scanStatus);
      return isOutdated(told, new Date()) ? { ...NOTHING_TOLD, at: told.at, state: 'silent' } : told;
    });
  } catch (error) {
    return { ...NOTHING_TOLD, state: error instanceof WorkflowNotFoundError ? 'absent' : 'silent' };
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
    actor: row.actor,
    reason: row.reason,
    readAt: row.readAt?.toISOString() ?? null,
  };
}
