import pLimit from 'p-limit';
import type { Alarm } from '../domain/alerts.ts';
import { withdrawalWorkflowId } from '../domain/ids.ts';
import { isTerminal, type WithdrawalTerms } from '../domain/withdrawal.ts';
import type { Ledger } from '../ledger/ledger.ts';
import { termsOf } from '../ledger/terms-of-row.ts';

/** The runs of withdrawals, as the root gives them. */
export interface Runs {
  running(): Promise<ReadonlySet<string>>;
  lastEnd(id: string): Promise<'completed' | 'failed' | 'none'>;
  start(terms: WithdrawalTerms): Promise<void>;
}

export interface OrphansDeps {
  readonly ledger: Ledger;
  readonly runs: Runs;
}

const AT_ONCE = 16;

/** Postgres is the record: whatever it has not finished must have a run. */
export function createOrphans({ ledger, runs }: OrphansDeps) {
  async function restart(terms: WithdrawalTerms): Promise<void> {
    const end = await runs.lastEnd(terms.id);
    if (end === 'failed') await ledger.alerts.raise(failedAlarm(terms.id));
    // A run completes only after its end is on record, so a record that has not ended now has lost that.
    if (end === 'completed') {
      if (isTerminal((await ledger.withdrawals.get(terms.id)).status)) return;
      const told = await ledger.alerts.everRaised('maybe_paid', [terms.id]);
      if (!told.has(terms.id)) await ledger.alerts.raise(endedAlarm(terms.id));
    }
    await runs.start(terms);
  }

  return {
    /** Starts a run for each unfinished withdrawal that has none; answers how many. Harmless for those that have one after all. */
    async restartOrphans(): Promise<{ readonly restarted: number }> {
      const orphans: WithdrawalTerms[] = [];
      const running = await runs.running();
      for await (const row of ledger.withdrawals.unfinished())
        if (!running.has(withdrawalWorkflowId(row.id))) orphans.push(termsOf(row));
      await pLimit(AT_ONCE).map(orphans, restart);
      return { restarted: orphans.length };
    },
  };
}

function failedAlarm(id: string): Alarm {
  const message = 'its workflow failed and was started again: see the error of the failed run';
  return { kind: 'workflow_failed', subject: id, message };
}

function endedAlarm(id: string): Alarm {
  const message =
    'its workflow has come to an end that the record does not know: cancel it, or close this alert to have it paid';
  return { kind: 'maybe_paid', subject: id, message };
}
