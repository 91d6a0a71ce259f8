import type { OperatorNote } from '../../domain/operator-note.ts';
import {
  EXPIRED,
  isPaidByDead,
  isTerminal,
  PAID_BY_DEAD,
  type SettlementStatus,
  type StatusReason,
} from '../../domain/settlement.ts';
import type { Trx } from '../database.ts';
import { closeAlert, noteJudgment } from '../operations/alerts.ts';
import { type AttemptRow, attemptsOf } from './attempt-row.ts';
import { releaseReservations } from './reservations.ts';
import { type EventsByKind, enterStatus, lockIfKnown } from './settlement-row.ts';

/**
 * Judges the alert that a dead attempt has landed as false, even if a resume has closed it. The settlement continues
 * with its newest attempt. Returns false if nothing changed.
 */
export async function judgeLandingFalse(
  trx: Trx,
  eventsByKind: EventsByKind,
  id: string,
  note: OperatorNote,
): Promise<boolean> {
  const row = await lockIfKnown(trx, id);
  const wasClosed = await closeAlert(trx, PAID_BY_DEAD, id, note);
  const wasJudged = await noteJudgment(trx, PAID_BY_DEAD, id, note);
  if (row !== undefined && isPaidByDead(row)) {
    const { status, reason } = statusAfter((await attemptsOf(trx, id)).at(-1));
    await enterStatus(trx, eventsByKind, id, status, reason, { isDisproved: true });
    // The sums of reservations are locked last: see `reserveFunds`.
    if (isTerminal(status)) await releaseReservations(trx, id);
  }
  return wasClosed || wasJudged;
}

function statusAfter(newest: AttemptRow | undefined): {
  readonly status: SettlementStatus;
  readonly reason: StatusReason | null;
} {
  if (newest?.state === 'signed') return { status: 'sending', reason: null };
  if (newest?.state === 'landed') return { status: 'finalized', reason: null };
  // A message of our own is composed again: a failed attempt pays nothing, and its cause may have passed.
  if (newest?.state === 'failed' && newest.adoptedFrom !== null) {
    const message = `the transaction failed on chain: ${newest.error ?? 'the error is not known'}`;
    return { status: 'failed', reason: { code: 'failed_on_chain', message } };
  }
  if (newest?.state === 'dead' && newest.adoptedFrom !== null) return { status: 'dead', reason: EXPIRED };
  return { status: 'preparing', reason: null };
}
