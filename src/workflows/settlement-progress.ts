import type { SearchAttributePair } from '@temporalio/common';
import {
  condition,
  patched,
  setCurrentDetails,
  setHandler,
  upsertSearchAttributes,
  workflowInfo,
} from '@temporalio/workflow';
import { attemptFailed } from '../domain/chain-failures.ts';
import { EXPIRED, isTerminal, type SettlementStatus, type StatusReason } from '../domain/settlement.ts';
import { kindOfSettlement } from '../domain/settlement-kinds.ts';
import type {
  DisplayedStatus,
  Landing,
  LandingReport,
  Preparation,
  PreparedAttempt,
  SettlementState,
} from '../domain/steps.ts';
import { progressCard } from './details.ts';
import { landingReport, type SettlementView, settlementStatus } from './messages.ts';
import { SLUICE_SIGNATURE, SLUICE_STATUS } from './search-attributes.ts';

/** A run's view of its settlement, displayed in the Web UI. Makes no decision about money. */
export class SettlementProgress {
  readonly id: string;
  status: SettlementStatus = 'requested';
  attempt: PreparedAttempt | null = null;
  protected isAdmitted = false;
  private readonly purpose: string;
  private readonly attributes: readonly SearchAttributePair[];
  private reason: StatusReason | null = null;
  private signature: string | null = null;
  private attemptCount = 0;

  /** `purpose`: a line of markdown. `attributes`: search attributes besides status and signature. */
  constructor(id: string, purpose: string, attributes: readonly SearchAttributePair[] = []) {
    this.id = id;
    this.purpose = purpose;
    this.attributes = attributes;
    setHandler(settlementStatus, () => this.view(), { description: 'Status, reason and newest signature' });
    setHandler(landingReport, (report) => this.recordLandingReport(report), {
      description: 'Reports that the newest attempt is held, or no longer held',
    });
  }

  resume(state: SettlementState): void {
    this.isAdmitted = true;
    this.setAttempt(state.attempt);
    this.show(state.status, state.reason);
  }

  recordPreparation(preparation: Preparation): void {
    if (preparation.kind !== 'prepared') return this.show(preparation.status, preparation.reason);
    this.setAttempt(preparation.attempt);
    this.status = 'preparing';
    this.reason = null;
    // Search attributes are not updated: that would cost a history event for a status that lasts milliseconds.
    this.updateDetails();
  }

  recordSignature(signature: string): void {
    this.signature = signature;
    if (this.status === 'confirmed') this.show(this.status, this.reason);
    else this.show('sending', null);
  }

  recordLanding(landing: Landing): void {
    this.attempt = null;
    if (landing.kind === 'finalized') this.show('finalized', null);
    if (landing.kind === 'failed') this.recordFailure(landing.reason, landing.goesOn === true);
    if (landing.kind !== 'dead') return;
    if (landing.ends) this.show('dead', EXPIRED);
    else this.show('preparing', ATTEMPT_DEAD);
  }

  /** Resolves when `isDone` returns true, the settlement has ended, or the history is long. */
  async waitUntil(isDone: () => boolean): Promise<void> {
    await condition(() => isDone() || isTerminal(this.status) || this.isHistoryLong);
  }

  /**
   * True if the run must continue as new. `patched` is false for tasks that an older worker completed, so that a run
   * whose history was long before the upgrade continues as new at its next task.
   */
  get isHistoryLong(): boolean {
    return workflowInfo().continueAsNewSuggested && patched('continue-as-new');
  }

  /** The result of an idempotent step; null if the history becomes long, so that the next run repeats the step. */
  async unlessHistoryLong<T>(step: Promise<T>): Promise<T | null> {
    return Promise.race([step, condition(() => this.isHistoryLong).then(() => null)]);
  }

  get displayedStatus(): DisplayedStatus {
    return { status: this.status, code: this.reason?.code ?? null };
  }

  view(): SettlementView {
    return {
      status: this.status,
      reason: this.reason,
      signature: this.signature,
      attempts: this.attemptCount,
    };
  }

  protected show(status: SettlementStatus, reason: StatusReason | null): void {
    this.status = status;
    this.reason = reason;
    this.updateDetails();
    this.upsertAttributes();
  }

  private recordFailure(reason: StatusReason, goesOn: boolean): void {
    if (goesOn) this.show('preparing', attemptFailed(this.attemptCount, reason.message));
    else this.show('failed', reason);
  }

  /** Ignores a report about an earlier attempt. */
  private recordLandingReport({ n, status, reason }: LandingReport): void {
    if (this.attempt?.n === n) this.show(status, reason);
  }

  private setAttempt(attempt: PreparedAttempt | null): void {
    this.attempt = attempt;
    if (attempt === null) return;
    this.attemptCount = attempt.n;
    this.signature = attempt.signature;
  }

  private updateDetails(): void {
    setCurrentDetails(progressCard(kindOfSettlement(this.id), this.purpose, this.view()));
  }

  /** Upserts only changed attributes, because each upsert is a history event. */
  private upsertAttributes(): void {
    const known = workflowInfo().typedSearchAttributes;
    const changed = [
      { key: SLUICE_STATUS, value: this.status },
      ...this.attributes,
      ...(this.signature === null ? [] : [{ key: SLUICE_SIGNATURE, value: this.signature }]),
    ].filter(({ key, value }) => known.get(key) !== value);
    if (changed.length > 0) upsertSearchAttributes(changed);
  }
}

const ATTEMPT_DEAD: StatusReason = {
  code: 'attempt_dead',
  message: 'the last attempt is proved dead; the next attempt is being prepared',
};
