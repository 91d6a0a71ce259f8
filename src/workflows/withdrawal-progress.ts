import { condition, setHandler } from '@temporalio/workflow';
import type { WithdrawalTerms } from '../domain/withdrawal.ts';
import * as act from './activity-proxies.ts';
import { purposeOf } from './details.ts';
import { cancelWithdrawal, confirmDestination, type SettlementView } from './messages.ts';
import { SLUICE_ASSET, SLUICE_DESTINATION } from './search-attributes.ts';
import { SettlementProgress } from './settlement-progress.ts';

export class WithdrawalProgress extends SettlementProgress {
  readonly terms: WithdrawalTerms;
  /** Counted, so that a confirmation is not missed if it arrives while an attempt is being prepared. */
  confirmationCount = 0;

  constructor(terms: WithdrawalTerms) {
    super(terms.id, purposeOf(terms), [
      { key: SLUICE_ASSET, value: terms.asset },
      { key: SLUICE_DESTINATION, value: terms.destination },
    ]);
    this.terms = terms;
    setHandler(confirmDestination, () => this.confirm(), {
      description: 'Confirms the destination for the customer',
    });
    setHandler(cancelWithdrawal, () => this.cancel(), {
      description: 'Cancels the withdrawal unless an attempt can still land',
    });
  }

  /** The result of a step; null if the history becomes long, or a cancellation is stored, which makes the step fail. */
  async unlessCancelled<T>(step: Promise<T>): Promise<T | null> {
    const cancelled = condition(() => this.status === 'cancelled' || this.isHistoryLong);
    return Promise.race([step, cancelled.then(() => null)]);
  }

  /** Resolves when there are more than `knownConfirmations`, the withdrawal has ended, or the history is long. */
  async waitForCustomer(knownConfirmations: number): Promise<void> {
    await this.waitUntil(() => this.confirmationCount > knownConfirmations);
  }

  private async confirm(): Promise<SettlementView> {
    await condition(() => this.isAdmitted);
    await act.confirm({ id: this.terms.id });
    this.confirmationCount += 1;
    return this.view();
  }

  private async cancel(): Promise<SettlementView> {
    await condition(() => this.isAdmitted);
    const { status, reason } = await act.cancel({ id: this.terms.id });
    this.show(status, reason);
    return this.view();
  }
}
