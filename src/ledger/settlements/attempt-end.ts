import {
  attemptFailed,
  KEEPS_FAILING,
  keepsFailing,
  paymentKeepsFailing,
} from '../../domain/chain-failures.ts';
import { EXPIRED, isPaidByDead, type StatusReason } from '../../domain/settlement.ts';
import { COUNT, type Trx } from '../database.ts';
import { raiseAlert } from '../operations/alerts.ts';
import { type AttemptOutcome, type AttemptRow, illegal } from './attempt-row.ts';
import { returnNonce } from './nonces.ts';
import { landReservations, releaseReservations } from './reservations.ts';
import { type EventsByKind, enterStatus, type SettlementRow } from './settlement-row.ts';

/**
 * Moves the settlement in the transaction that stores the attempt's end. The caller holds the settlement's lock and
 * has seen the attempt live under it. The sums of reservations are locked last: see `reserveFunds`.
 */
export async function afterSettlement(
  trx: Trx,
  kinds: EventsByKind,
  settlement: SettlementRow,
  settled: AttemptRow,
  { reason, mayPass = false }: AttemptOutcome,
): Promise<void> {
  const { id } = settlement;
  if (settled.nonceAccount !== null) await returnNonce(trx, settled.nonceAccount, id);
  const isStopped = isPaidByDead(settlement);
  if (settled.state !== 'dead' && settled.slot === null)
    throw illegal(settled, 'end in a block whose slot is missing');
  if (settled.state === 'landed') {
    if (!isStopped) await enterStatus(trx, kinds, id, 'finalized');
    await landReservations(trx, id, settled.slot ?? 0n);
    return;
  }
  // Only our own messages can be composed again: the reservation stays open for the next attempt.
  const goesOn = settled.adoptedFrom === null && (settled.state === 'dead' || mayPass);
  if (!isStopped) await enterNext(trx, kinds, settlement, settled, { goesOn, reason: reason ?? null });
  if (!goesOn) await releaseReservations(trx, id);
}

async function enterNext(
  trx: Trx,
  kinds: EventsByKind,
  { id, status }: SettlementRow,
  settled: AttemptRow,
  { goesOn, reason }: { readonly goesOn: boolean; readonly reason: StatusReason | null },
): Promise<void> {
  // The fork that confirmed it is dead, or it failed there: no step leads from `confirmed` to what follows.
  if (status === 'confirmed' && (goesOn || settled.state === 'dead'))
    await enterStatus(trx, kinds, id, 'sending');
  if (settled.state === 'dead')
    await enterStatus(trx, kinds, id, goesOn ? 'preparing' : 'dead', goesOn ? null : EXPIRED);
  else if (goesOn) await prepareAgain(trx, kinds, settled, reason);
  else await enterStatus(trx, kinds, id, 'failed', reason);
}

/** These bytes never land again. The next attempt waits; after too many failures an operator decides. */
async function prepareAgain(
  trx: Trx,
  kinds: EventsByKind,
  { settlementId: id, n }: AttemptRow,
  reason: StatusReason | null,
): Promise<void> {
  const cause = reason?.message ?? 'the chain reports no error';
  const failures = await failuresOf(trx, id);
  if (!keepsFailing(failures)) {
    await enterStatus(trx, kinds, id, 'preparing', attemptFailed(n, cause));
    return;
  }
  const hold = paymentKeepsFailing(failures, cause);
  await enterStatus(trx, kinds, id, 'held', hold);
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
