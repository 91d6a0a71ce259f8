import { defineQuery, defineSignal, defineUpdate } from '@temporalio/workflow';
import type { AwaitedCommitment, SettlementStatus, StatusReason } from '../domain/settlement.ts';
import { LANDING_REPORT, type LandingReport } from '../domain/steps.ts';

/** A workflow run's view of its settlement. PostgreSQL is the source of truth. */
export interface SettlementView {
  readonly status: SettlementStatus;
  readonly reason: StatusReason | null;
  /** base58 signature of the newest signed attempt. */
  readonly signature: string | null;
  /** Number of attempts so far. */
  readonly attempts: number;
}

/** Confirms the destination for the customer. Fails with NotAwaitingConfirmation if no confirmation is awaited. */
export const confirmDestination = defineUpdate<SettlementView>('confirmDestination');

/**
 * Cancels the withdrawal. Fails with NotCancellable while an attempt can land, and with DatabaseIncomplete while a lost
 * attempt may have paid it.
 */
export const cancelWithdrawal = defineUpdate<SettlementView>('cancelWithdrawal');

/**
 * Stores a base58 signature for attempt `n` from a signer outside Sluice. Fails with SigningRefused if the signature is
 * not valid for one of the attempt's signers and its message. Fails with IllegalTransition if the attempt has ended.
 */
export const giveSignature = defineUpdate<void, [{ readonly n: number; readonly signature: string }]>(
  'giveSignature',
);

/**
 * Completes when the settlement reaches the commitment or ends. Also when the run continues as new: send the update
 * again.
 */
export const settlementReached = defineUpdate<SettlementView, [AwaitedCommitment]>('reached');

/** Sent by the landing activity when the newest attempt is held, or no longer held. */
export const landingReport = defineSignal<[LandingReport]>(LANDING_REPORT);

/** Sent when the outbox has new events of this line. */
export const wakeDelivery = defineSignal('wakeDelivery');

/** Status, reason and newest signature. */
export const settlementStatus = defineQuery<SettlementView>('status');
