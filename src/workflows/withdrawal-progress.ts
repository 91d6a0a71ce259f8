import {
  condition,
  setCurrentDetails,
  setHandler,
  upsertSearchAttributes,
  workflowInfo,
} from '@temporalio/workflow';
import type { LandingReport } from '../domain/landing-report.ts';
import type { Landing, Preparation, PreparedAttempt, Shown, Standing } from '../domain/steps.ts';
import {
  isTerminal,
  type StatusReason,
  type WithdrawalStatus,
  type WithdrawalTerms,
} from '../domain/withdrawal.ts';
import * as act from './activities.ts';
import { progressCard } from './details.ts';
import {
  cancelWithdrawal,
  confirmDestination,
  landingReport,
  type WithdrawalView,
  withdrawalStatus,
} from './messages.ts';
import { SLUICE_ASSET, SLUICE_DESTINATION, SLUICE_SIGNATURE, SLUICE_STATUS } from './search-attributes.ts';

/** What one run knows of its withdrawal, kept in step with what operators see in the Web UI. Decides nothing about money. */
export class WithdrawalProgress {
  readonly terms: WithdrawalTerms;
  status: WithdrawalStatus = 'requested';
  attempt: PreparedAttempt | null = null;
  /** How often the customer has confirmed; one that comes while an attempt is being prepared must not be missed. */
  answers = 0;
  private reason: StatusReason | null = null;
  private signature: string | null = null;
  private attempts = 0;
  private admitted = false;

  constructor(terms: WithdrawalTerms) {
    this.terms = terms;
    setHandler(withdrawalStatus, () => this.view(), { description: 'Status, reason and newest signature' });
    setHandler(confirmDestination, () => this.confirm(), {
      description: 'Pay the wallet as it is',
    });
    setHandler(landingReport, (report) => this.waited(report), {
      description: 'How the wait for the newest attempt looks',
    });
    setHandler(cancelWithdrawal, () => this.cancel(), { description: 'End it, if nothing was prepared yet' });
  }

  stand(standing: Standing): void {
    this.admitted = true;
    this.take(standing.attempt);
    this.show(standing.status, standing.reason);
  }

  prepared(preparation: Preparation): void {
    if (preparation.kind !== 'prepared') return this.show(preparation.status, preparation.reason);
    this.take(preparation.attempt);
    this.status = 'preparing';
    this.reason = null;
    // The card alone: a search attribute for a state of milliseconds would be a history event more.
    this.describe();
  }

  signed(signature: string): void {
    this.signature = signature;
    this.show('sending', null);
  }

  landed(landing: Landing): void {
    this.attempt = null;
    if (landing.kind === 'finalized') this.show('finalized', null);
    if (landing.kind === 'failed') this.show('failed', landing.reason);
    if (landing.kind === 'dead') this.show('preparing', DIED);
  }

  /** The step's result, or `cancelled` as soon as a cancel is on record; Postgres refuses the step in that case. */
  async unlessCancelled<T>(step: Promise<T>): Promise<T | 'cancelled'> {
    return Promise.race([
      step,
      condition(() => this.status === 'cancelled').then(() => 'cancelled' as const),
    ]);
  }

  /** Resolves when the customer has confirmed more than `heard` times, or cancels. */
  async customerAnswered(heard: number): Promise<void> {
    await condition(() => this.answers > heard || isTerminal(this.status));
  }

  get shown(): Shown {
    return { status: this.status, code: this.reason?.code ?? null };
  }

  view(): WithdrawalView {
    return { status: this.status, reason: this.reason, signature: this.signature, attempts: this.attempts };
  }

  /** A report of an attempt that is settled meanwhile says nothing any more. */
  private waited({ n, status, reason }: LandingReport): void {
    if (this.attempt?.n === n) this.show(status, reason);
  }

  private async confirm(): Promise<WithdrawalView> {
    await condition(() => this.admitted);
    await act.confirm({ id: this.terms.id });
    this.answers += 1;
    return this.view();
  }

  private async cancel(): Promise<WithdrawalView> {
    await condition(() => this.admitted);
    const { status, reason } = await act.cancel({ id: this.terms.id });
    this.show(status, reason);
    return this.view();
  }

  private take(attempt: PreparedAttempt | null): void {
    this.attempt = attempt;
    if (attempt === null) return;
    this.attempts = attempt.n;
    this.signature = attempt.signature;
  }

  private show(status: WithdrawalStatus, reason: StatusReason | null): void {
    this.status = status;
    this.reason = reason;
    this.describe();
    this.upsert();
  }

  private describe(): void {
    setCurrentDetails(progressCard(this.terms, this.view()));
  }

  /** Only what changed, because each upsert is a history event. */
  private upsert(): void {
    const known = workflowInfo().typedSearchAttributes;
    const wanted = [
      { key: SLUICE_STATUS, value: this.status },
      { key: SLUICE_ASSET, value: this.terms.asset },
      { key: SLUICE_DESTINATION, value: this.terms.destination },
      ...(this.signature === null ? [] : [{ key: SLUICE_SIGNATURE, value: this.signature }]),
    ].filter(({ key, value }) => known.get(key) !== value);
    if (wanted.length > 0) upsertSearchAttributes(wanted);
  }
}

const DIED: StatusReason = {
  code: 'attempt_dead',
  message: 'the last attempt is proved dead; the next one is being composed',
};
