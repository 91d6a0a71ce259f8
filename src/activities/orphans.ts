import { withdrawalWorkflowId } from '../domain/ids.ts';
import type { WithdrawalTerms } from '../domain/withdrawal.ts';
import type { Ledger } from '../ledger/ledger.ts';
import { termsOf } from '../ledger/terms-of-row.ts';
import { unfinishedWithdrawals } from '../ledger/unfinished.ts';
import { mapAtOnce } from '../solana/batch.ts';

/** The runs of withdrawals, as the root gives them. */
export interface Runs {
  running(): Promise<ReadonlySet<string>>;
  failed(id: string): Promise<boolean>;
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
    if (await runs.failed(terms.id)) {
      const message = 'its workflow failed and was started again: see the error of the failed run';
      await ledger.alerts.raise({ kind: 'workflow_failed', subject: terms.id, message });
    }
    await runs.start(terms);
  }

  return {
    /** Starts a run for each unfinished withdrawal that has none; answers how many. Harmless for those that have one after all. */
    async restartOrphans(): Promise<{ readonly restarted: number }> {
      const orphans: WithdrawalTerms[] = [];
      const running = await runs.running();
      for await (const row of unfinishedWithdrawals(ledger.db))
        if (!running.has(withdrawalWorkflowId(row.id))) orphans.push(termsOf(row));
      await mapAtOnce(orphans, AT_ONCE, restart);
      return { restarted: orphans.length };
    },
  };
}
