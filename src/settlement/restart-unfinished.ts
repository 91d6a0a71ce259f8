import pLimit from 'p-limit';
import type { Alarm } from '../domain/alerts.ts';
import { type BackfillOrder, backfillWorkflowId } from '../domain/backfill.ts';
import { settlementWorkflowId } from '../domain/ids.ts';
import { type AwaitedCommitment, isTerminal } from '../domain/settlement.ts';
import type { WithdrawalTerms } from '../domain/withdrawal.ts';
import type { Ledger } from '../ledger/ledger.ts';
import { commandOf } from '../ledger/scan/backfills.ts';
import type { SettlementRow } from '../ledger/settlements/settlements.ts';
import type { Kinds } from './kind.ts';

/** Workflow runs of settlements and backfills, by workflow id. The composition root provides them. */
export interface WorkflowRuns {
  running(): Promise<ReadonlySet<string>>;
  /** Result of the newest run of a workflow id; `none` if it is running, was stopped by hand or is unknown. */
  lastEnd(workflowId: string): Promise<'completed' | 'failed' | 'none'>;
  /** Starts a withdrawal unless it is running, whatever the result of earlier runs. */
  start(terms: WithdrawalTerms): Promise<void>;
  /** Likewise for another kind. `answersAt`: the commitment that callers of its kind wait for. */
  startSettlement(settlement: SettlementRow, answersAt: AwaitedCommitment): Promise<void>;
  /** Joins a running backfill of the same order. */
  startBackfill(order: BackfillOrder): Promise<void>;
  /** Running backfills by workflow id, with their start times. */
  runningBackfills(): Promise<ReadonlyMap<string, Date>>;
}

export interface OrphansDeps {
  readonly ledger: Ledger;
  readonly runs: WorkflowRuns;
  readonly kinds: Kinds;
}

const AT_ONCE = 16;
const BACKFILLS_A_ROUND = 100;
const OWED_A_ROUND = 500;
/** Milliseconds; longer than the gateway takes to serve. */
const OVERDUE_MS = 120_000;

/** Each unfinished row in PostgreSQL must have a run. */
export function createOrphans({ ledger, runs, kinds }: OrphansDeps) {
  async function restart(settlement: SettlementRow): Promise<void> {
    const { id, kind } = settlement;
    const terms = await kinds[kind]?.terms?.(settlement);
    const end = await runs.lastEnd(settlementWorkflowId(settlement));
    if (end === 'failed') await ledger.alerts.raise(failedAlarm(id));
    // A run completes only after its end is stored. If the row has no end now, a restore has lost it.
    if (end === 'completed') {
      if (isTerminal((await ledger.settlements.get(id)).status)) return;
      const raised = await ledger.alerts.subjectsEverRaised('maybe_paid', [id]);
      if (!raised.has(id)) await ledger.alerts.raise(endedAlarm(id));
    }
    if (terms === undefined) await runs.startSettlement(settlement, ledger.settlements.answersAt(kind));
    else await runs.start(terms);
  }

  /** False also for a kind of a newer release: a worker of that release starts its run. */
  async function isServed(settlement: SettlementRow): Promise<boolean> {
    const kind = kinds[settlement.kind];
    return kind !== undefined && ((await kind.isServed?.(settlement)) ?? true);
  }

  /** Ended settlements whose buyers were not served yet. */
  async function owedOrphans(running: ReadonlySet<string>): Promise<readonly SettlementRow[]> {
    const overdue = await ledger.payments.listOverdue(OVERDUE_MS, OWED_A_ROUND);
    const rows = await Promise.all(overdue.map(({ id }) => ledger.settlements.get(id)));
    return rows.filter((row) => isTerminal(row.status) && !running.has(settlementWorkflowId(row)));
  }

  return {
    /**
     * Starts a run for each unfinished settlement, owed final payment and backfill without one; harmless if a
     * run exists. Returns their number.
     */
    async restartOrphans(): Promise<{ readonly restarted: number }> {
      const orphans: SettlementRow[] = [];
      const running = await runs.running();
      for await (const row of ledger.settlements.unfinished())
        if (!running.has(settlementWorkflowId(row)) && (await isServed(row))) orphans.push(row);
      const owed = await owedOrphans(running);
      const backfills = (await ledger.backfills.listDue(BACKFILLS_A_ROUND))
        .map(commandOf)
        .filter((order) => !running.has(backfillWorkflowId(order)));
      await pLimit(AT_ONCE).map(orphans, restart);
      await pLimit(AT_ONCE).map(owed, (row) => runs.startSettlement(row, 'confirmed'));
      await pLimit(AT_ONCE).map(backfills, (order) => runs.startBackfill(order));
      return { restarted: orphans.length + owed.length + backfills.length };
    },
  };
}

function failedAlarm(subject: string): Alarm {
  const message = 'the workflow failed, and Sluice started it again: see the error of the failed run';
  return { kind: 'workflow_failed', subject, message };
}

function endedAlarm(id: string): Alarm {
  const message =
    'its workflow has completed, but the database has no end for it: mark it as paid, or close this alert to allow its payment';
  return { kind: 'maybe_paid', subject: id, message };
}
