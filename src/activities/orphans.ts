import pLimit from 'p-limit';
import type { Alarm } from '../domain/alerts.ts';
import type { AuditOrder } from '../domain/audit.ts';
import { nonceUpkeepWorkflowId, withdrawalWorkflowId } from '../domain/ids.ts';
import { type RescanOrder, rescanWorkflowId } from '../domain/rescan.ts';
import { rangeOf } from '../domain/slots.ts';
import type { NonceUpkeepRequest } from '../domain/steps.ts';
import { isTerminal, type WithdrawalTerms } from '../domain/withdrawal.ts';
import type { Ledger } from '../ledger/ledger.ts';
import type { RescanRow } from '../ledger/rescans.ts';
import { termsOf } from '../ledger/terms-of-row.ts';

/** The runs of withdrawals, of nonce upkeep and of rescans, by workflow id, as the root gives them. */
export interface Runs {
  running(): Promise<ReadonlySet<string>>;
  lastEnd(workflowId: string): Promise<'completed' | 'failed' | 'none'>;
  start(terms: WithdrawalTerms): Promise<void>;
  startUpkeep(request: NonceUpkeepRequest): Promise<void>;
  startRescan(order: RescanOrder): Promise<void>;
  startAudit(order: AuditOrder): Promise<void>;
  /** The audits that go on, by workflow id, and since when. */
  runningAudits(): Promise<ReadonlyMap<string, Date>>;
}

export interface OrphansDeps {
  readonly ledger: Ledger;
  readonly runs: Runs;
  /** Only its nonce accounts can be kept up: the signer has no other key. */
  readonly hotWallet: string;
}

const AT_ONCE = 16;
const RESCANS_A_ROUND = 100;

/** Postgres is the record: whatever it has not finished must have a run. */
export function createOrphans({ ledger, runs, hotWallet }: OrphansDeps) {
  async function restart(terms: WithdrawalTerms): Promise<void> {
    const end = await runs.lastEnd(withdrawalWorkflowId(terms.id));
    if (end === 'failed') await ledger.alerts.raise(failedAlarm(terms.id));
    // A run completes only after its end is on record, so a record that has not ended now has lost that.
    if (end === 'completed') {
      if (isTerminal((await ledger.withdrawals.get(terms.id)).status)) return;
      const told = await ledger.alerts.everRaised('maybe_paid', [terms.id]);
      if (!told.has(terms.id)) await ledger.alerts.raise(endedAlarm(terms.id));
    }
    await runs.start(terms);
  }

  async function restartUpkeep([workflowId, request]: readonly [string, NonceUpkeepRequest]): Promise<void> {
    if ((await runs.lastEnd(workflowId)) === 'failed') await ledger.alerts.raise(failedAlarm(workflowId));
    await runs.startUpkeep(request);
  }

  return {
    /**
     * Starts a run for each unfinished withdrawal, each unfinished upkeep and each rescan that has none; answers how many. Harmless for
     * those that have one after all.
     */
    async restartOrphans(): Promise<{ readonly restarted: number }> {
      const orphans: WithdrawalTerms[] = [];
      const running = await runs.running();
      for await (const row of ledger.withdrawals.unfinished())
        if (!running.has(withdrawalWorkflowId(row.id))) orphans.push(termsOf(row));
      const upkeeps = new Map<string, NonceUpkeepRequest>();
      for (const request of await ledger.nonceUpkeeps.unfinished(hotWallet)) {
        const workflowId = nonceUpkeepWorkflowId(request);
        if (!running.has(workflowId)) upkeeps.set(workflowId, request);
      }
      const rescans = (await ledger.rescans.open(RESCANS_A_ROUND))
        .map(orderOf)
        .filter((order) => !running.has(rescanWorkflowId(order)));
      await pLimit(AT_ONCE).map(orphans, restart);
      await pLimit(AT_ONCE).map([...upkeeps], restartUpkeep);
      await pLimit(AT_ONCE).map(rescans, (order) => runs.startRescan(order));
      return { restarted: orphans.length + upkeeps.size + rescans.length };
    },
  };
}

function orderOf({ fromSlot, toSlot, who, why }: RescanRow): RescanOrder {
  return { ...rangeOf({ from: fromSlot, to: toSlot }), who, why };
}

function failedAlarm(subject: string): Alarm {
  const message = 'its workflow failed and was started again: see the error of the failed run';
  return { kind: 'workflow_failed', subject, message };
}

function endedAlarm(id: string): Alarm {
  const message =
    'its workflow has come to an end that the record does not know: end it as paid, or close this alert to have it paid';
  return { kind: 'maybe_paid', subject: id, message };
}
