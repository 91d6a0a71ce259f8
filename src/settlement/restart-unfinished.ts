import pLimit from 'p-limit';
import type { Alarm } from '../domain/alerts.ts';
import { type BackfillCommand, backfillWorkflowId } from '../domain/backfill.ts';
import { isDomainError } from '../domain/errors.ts';
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
  /**
   * Result of the newest run of a workflow id; `none` if that run is running, was stopped by hand or does not exist.
   */
  lastEnd(workflowId: string): Promise<'completed' | 'failed' | 'none'>;
  /** Starts the workflow of a withdrawal unless it is running, whatever the result of earlier runs. */
  start(terms: WithdrawalTerms): Promise<void>;
  /**
   * Starts the workflow of a settlement of another kind unless it is running. `answersAt`: the commitment that
   * callers of its kind wait for.
   */
  startSettlement(settlement: SettlementRow, answersAt: AwaitedCommitment): Promise<void>;
  /** Starts a backfill, or joins the running one of the same command. */
  startBackfill(command: BackfillCommand): Promise<void>;
  /** Running backfills by workflow id, with their start times. */
  runningBackfills(): Promise<ReadonlyMap<string, Date>>;
}

export interface OrphansDeps {
  readonly ledger: Ledger;
  readonly runs: WorkflowRuns;
  readonly kinds: Kinds;
}

const START_CONCURRENCY = 16;
const MAX_BACKFILLS_PER_ROUND = 100;
const MAX_OWED_PER_ROUND = 500;
/** Longer than the gateway takes to serve a paid request. */
const OVERDUE_MS = 120_000;
const ABANDONED = {
  code: 'abandoned',
  message: 'nothing was signed, and no process continues the settlement',
};

/** Starts missing workflow runs: each unfinished row in PostgreSQL must have one. */
export function createMissingRunStarter({ ledger, runs, kinds }: OrphansDeps) {
  /** True if it has started the run. */
  async function restart(settlement: SettlementRow): Promise<boolean> {
    const { id, kind } = settlement;
    const action = (await kinds[kind]?.onMissingRun?.(settlement)) ?? 'start';
    if (action === 'leave' || (action === 'cancel' && (await cancel(ledger, id)))) return false;
    const terms = await kinds[kind]?.terms?.(settlement);
    const end = await runs.lastEnd(settlementWorkflowId(settlement));
    if (end === 'failed') await ledger.alerts.raise(failedAlarm(id));
    // A run completes only after the end of its settlement is stored. If the row has not ended now, a restore has
    // lost that end.
    if (end === 'completed') {
      if (isTerminal((await ledger.settlements.get(id)).status)) return false;
      const raised = await ledger.alerts.subjectsEverRaised('maybe_paid', [id]);
      if (!raised.has(id)) await ledger.alerts.raise(endedAlarm(id));
    }
    if (terms === undefined) await runs.startSettlement(settlement, ledger.settlements.answersAt(kind));
    else await runs.start(terms);
    return true;
  }

  /**
   * True if this worker has the key for the settlement. False also for a kind of a newer release: a worker of that
   * release starts the run.
   */
  async function hasKey(settlement: SettlementRow): Promise<boolean> {
    const kind = kinds[settlement.kind];
    return kind !== undefined && ((await kind.hasKey?.(settlement)) ?? true);
  }

  /** Ended settlements without a run whose buyers have not been served. */
  async function unservedSettlements(running: ReadonlySet<string>): Promise<readonly SettlementRow[]> {
    const overdue = await ledger.payments.listOverdue(OVERDUE_MS, MAX_OWED_PER_ROUND);
    const rows = await Promise.all(overdue.map(({ id }) => ledger.settlements.get(id)));
    return rows.filter((row) => isTerminal(row.status) && !running.has(settlementWorkflowId(row)));
  }

  return {
    /**
     * Starts the missing run of each unfinished settlement, of each final payment whose buyer was not served, and of
     * each backfill. Harmless if a run exists. Returns how many it started.
     */
    async startMissingRuns(): Promise<{ readonly restarted: number }> {
      const unfinished: SettlementRow[] = [];
      const running = await runs.running();
      for await (const row of ledger.settlements.listUnfinished())
        if (!running.has(settlementWorkflowId(row)) && (await hasKey(row))) unfinished.push(row);
      const unserved = await unservedSettlements(running);
      const backfills = (await ledger.backfills.listDue(MAX_BACKFILLS_PER_ROUND))
        .map(commandOf)
        .filter((command) => !running.has(backfillWorkflowId(command)));
      const started = await pLimit(START_CONCURRENCY).map(unfinished, restart);
      await pLimit(START_CONCURRENCY).map(unserved, (row) => runs.startSettlement(row, 'confirmed'));
      await pLimit(START_CONCURRENCY).map(backfills, (command) => runs.startBackfill(command));
      const restarted = started.filter(Boolean).length + unserved.length + backfills.length;
      return { restarted };
    },
  };
}

/** Cancels a settlement without an attempt. False if it has an attempt, or if a restore can have lost one. */
async function cancel({ settlements }: Ledger, id: string): Promise<boolean> {
  try {
    await settlements.cancel(id, ABANDONED);
    return true;
  } catch (error) {
    if (isDomainError(error, 'NotCancellable') || isDomainError(error, 'DatabaseIncomplete')) return false;
    throw error;
  }
}

function failedAlarm(subject: string): Alarm {
  const message = `the workflow of settlement ${subject} failed, and Sluice starts it again: see the error of the failed run`;
  return { kind: 'workflow_failed', subject, message };
}

function endedAlarm(id: string): Alarm {
  const message = `the workflow of settlement ${id} has completed, but the settlement has not ended in the database, which was probably restored: mark the settlement as paid, or close this alert to allow its payment`;
  return { kind: 'maybe_paid', subject: id, message };
}
