import {
  attemptFailed,
  KEEPS_FAILING,
  keepsFailing,
  paymentKeepsFailing,
} from '../../domain/chain-failures.ts';
import { EXPIRED, isPaidByDead, type StatusReason } from '../../domain/settlement.ts';
import { COUNT, type Trx } from '../database.ts';
import { raiseAlert } from '../operations/alerts.ts';
import { type AttemptOutcome, type AttemptRow, illegalTransition } from './attempt-row.ts';
import { returnNonce } from './nonces.ts';
import { landReservations, releaseReservations } from './reservations.ts';
import { type EventsByKind, enterStatus, type SettlementRow } from './settlement-row.ts';

/**
 * Moves the settlement after its attempt has ended, in the transaction that stores that end. The caller holds the
 * settlement's lock, and the attempt was live under that lock. The sums of reservations are locked last: see
 * `reserveFunds`.
 */
export async function moveAfterAttempt(
  trx: Trx,
  eventsByKind: EventsByKind,
  settlement: SettlementRow,
  endedAttempt: AttemptRow,
  { reason, mayPass = false }: AttemptOutcome,
): Promise<void> {
  const { id } = settlement;
  if (endedAttempt.nonceAccount !== null) await returnNonce(trx, endedAttempt.nonceAccount, id);
  const isStopped = isPaidByDead(settlement);
  if (endedAttempt.state !== 'dead' && endedAttempt.slot === null)
    throw illegalTransition(endedAttempt, 'end without the slot of its block');
  if (endedAttempt.state === 'landed') {
    if (!isStopped) await enterStatus(trx, eventsByKind, id, 'finalized');
    await landReservations(trx, id, endedAttempt.slot ?? 0n);
    return;
  }
  // A message of our own is composed again, so its reservation stays open for the next attempt.
  const isRetried = endedAttempt.adoptedFrom === null && (endedAttempt.state === 'dead' || mayPass);
  if (!isStopped)
    await enterNext(trx, eventsByKind, settlement, endedAttempt, { isRetried, reason: reason ?? null });
  if (!isRetried) await releaseReservations(trx, id);
}

async function enterNext(
  trx: Trx,
  eventsByKind: EventsByKind,
  { id, status }: SettlementRow,
  endedAttempt: AttemptRow,
  { isRetried, reason }: { readonly isRetried: boolean; readonly reason: StatusReason | null },
): Promise<void> {
  // The attempt failed, or the fork that confirmed it was abandoned. The state machine allows the next status only
  // after `sending`.
  if (status === 'confirmed' && (isRetried || endedAttempt.state === 'dead'))
    await enterStatus(trx, eventsByKind, id, 'sending');
  if (endedAttempt.state === 'dead')
    await enterStatus(trx, eventsByKind, id, isRetried ? 'preparing' : 'dead', isRetried ? null : EXPIRED);
  else if (isRetried) await prepareAgain(trx, eventsByKind, endedAttempt, reason);
  else await enterStatus(trx, eventsByKind, id, 'failed', reason);
}

/** Prepares the next attempt after a failure. After too many failures, holds the settlement for an operator instead. */
async function prepareAgain(
  trx: Trx,
  eventsByKind: EventsByKind,
  { settlementId: id, n }: AttemptRow,
  reason: StatusReason | null,
): Promise<void> {
  const cause = reason?.message ?? 'the chain reports no error';
  const failures = await failuresOf(trx, id);
  if (!keepsFailing(failures)) {
    await enterStatus(trx, eventsByKind, id, 'preparing', attemptFailed(n, cause));
    return;
  }
  const hold = paymentKeepsFailing(failures, cause);
  await enterStatus(trx, eventsByKind, id, 'held', hold);
  await raiseAlert(trx, { kind: KEEPS_FAILING, subject: id, message: hold.message, details: { failures } });
}

async function failuresOf(trx: Trx, settlementId: string): Promise<number> {
  const { failures } = await trx
    .selectFrom('attempt')
    .select(COUNT.as('failures'))
    .where('settlementId', '=', settlementId)
    .where('state', '=', 'failed')
    .executeTakeFirstOrThrow();
  return failures;
}
