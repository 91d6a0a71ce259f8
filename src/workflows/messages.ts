import { defineQuery, defineSignal, defineUpdate } from '@temporalio/workflow';
import { LANDING_REPORT, type LandingReport } from '../domain/landing-report.ts';
import type { OperatorNote } from '../domain/operator-note.ts';
import type { RescanOrder } from '../domain/rescan.ts';
import { SCAN_REPORT, type ScanStatus } from '../domain/scan.ts';
import type { SettlementStatus, StatusReason } from '../domain/settlement.ts';

/** What a run knows of its settlement. Postgres is the record; this is the motor's view of it. */
export interface SettlementView {
  readonly status: SettlementStatus;
  readonly reason: StatusReason | null;
  /** base58 signature of the newest signed attempt. */
  readonly signature: string | null;
  readonly attempts: number;
}

/**
 * The customer says: pay this wallet although it needs a confirmation. Fails with NotAwaitingConfirmation unless the withdrawal waits
 * for it.
 */
export const confirmDestination = defineUpdate<SettlementView>('confirmDestination');

/** Ends the withdrawal if no attempt row exists yet, or if it may be paid already; otherwise fails with NotCancellable. */
export const cancelWithdrawal = defineUpdate<SettlementView>('cancelWithdrawal');

/**
 * Stores a signature (base58) of the n-th attempt that a signer outside of Sluice has made. Fails with SigningRefused where it is not one of
 * its signers over its message, and with IllegalTransition where the attempt has ended.
 */
export const giveSignature = defineUpdate<void, [{ readonly n: number; readonly signature: string }]>(
  'giveSignature',
);

/** Answers where the settlement is once it is at this commitment, or has ended, or its run continues as new: then ask again. */
export const settlementReached = defineUpdate<SettlementView, ['confirmed' | 'finalized']>('reached');

/** The activity that waits for the newest attempt says that it is held, or no longer. */
export const landingReport = defineSignal<[LandingReport]>(LANDING_REPORT);

/** The outbox has more of a line. */
export const wakeDelivery = defineSignal('wakeDelivery');

/** Status, reason and newest signature. */
export const settlementStatus = defineQuery<SettlementView>('status');

/** How the deposit scan stands. */
export const scanStatus = defineQuery<ScanStatus>('scan');

/** The activity that scans says how it stands. */
export const scanReport = defineSignal<[ScanStatus]>(SCAN_REPORT);

/** Puts a pause of the scan on record: nothing is committed until it is resumed, by whichever run. */
export const pauseScan = defineSignal<[OperatorNote]>('pauseScan');

/** Ends the pause on record. */
export const resumeScan = defineSignal<[OperatorNote]>('resumeScan');

/** Begins a run that reads committed blocks again, both ends included, where none of the same slots goes on. */
export const rescanRange = defineSignal<[RescanOrder]>('rescanRange');
