import { defineQuery, defineSignal, defineUpdate } from '@temporalio/workflow';
import type { AwaitedCommitment, SettlementStatus, StatusReason } from '../domain/settlement.ts';
import { LANDING_REPORT, type LandingReport } from '../domain/steps.ts';

/** A run's view of its settlement. PostgreSQL is the source of truth. */
export interface SettlementView {
  readonly status: SettlementStatus;
  readonly reason: StatusReason | null;
  /** base58 signature of the newest signed attempt. */
  readonly signature: string | null;
  readonly attempts: number;
}

/** The customer confirms the destination. Fails with NotAwaitingConfirmation if no confirmation is awaited. */
export const confirmDestination = defineUpdate<SettlementView>('confirmDestination');

/** Ends the withdrawal if it has no attempt row, or may be paid already. Else fails with NotCancellable. */
export const cancelWithdrawal = defineUpdate<SettlementView>('cancelWithdrawal');

/**
 * Stores a signature (base58) of the n-th attempt, made by a signer outside of Sluice. Fails with
 * SigningRefused if it is not a signature of one of the attempt's signers over its message. Fails with
 * IllegalTransition if the attempt has ended.
 */
export const giveSignature = defineUpdate<void, [{ readonly n: number; readonly signature: string }]>(
  'giveSignature',
);

/** Returns once the settlement reaches the commitment or ends; or if the run continues as new: then send it again. */
export const settlementReached = defineUpdate<SettlementView, [AwaitedCommitment]>('reached');

/** The landing activity reports that the newest attempt is held, or no longer held. */
export const landingReport = defineSignal<[LandingReport]>(LANDING_REPORT);

/** The outbox has more events of this line. */
export const wakeDelivery = defineSignal('wakeDelivery');

/** Status, reason and newest signature. */
export const settlementStatus = defineQuery<SettlementView>('status');
