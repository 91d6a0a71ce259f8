import { KEEPS_FAILING } from '../../domain/chain-failures.ts';
import { DomainError } from '../../domain/errors.ts';
import type { OperatorNote } from '../../domain/operator-note.ts';
import {
  type AwaitedCommitment,
  isPaidByDead,
  isTerminal,
  mayFollow,
  PAID_ALREADY,
  PAID_BY_DEAD,
  type SettlementStatus,
  type StatusReason,
  UNFINISHED,
  UNPAID_ENDS,
} from '../../domain/settlement.ts';
import { kindOfSettlement } from '../../domain/settlement-kinds.ts';
import { anyOf, type Database, exists, Repository, type Tables, type Trx } from '../database.ts';
import { closeAlert } from '../operations/alerts.ts';
import { POSSIBLY_PAID_STATES } from './attempt-row.ts';
import { judgeLandingFalse } from './false-landing.ts';
import { releaseReservations } from './reservations.ts';
import {
  type EventsByKind,
  enterStatus,
  lockSettlement,
  noSettlement,
  type SettlementRow,
  toSettlementRow,
} from './settlement-row.ts';
import { possiblePaymentOf } from './stops.ts';
import { type Together, togetherByKind } from './together.ts';

export type { SettlementRow } from './settlement-row.ts';

/**
 * Statuses without a payable attempt: a slow step must not set one of them after a faster step has prepared an
 * attempt.
 */
const STATUSES_WITHOUT_ATTEMPT: readonly SettlementStatus[] = [
  'awaiting_confirmation',
  'awaiting_funds',
  ...UNPAID_ENDS,
];
const UNFINISHED_PAGE_SIZE = 500;

/** Obligations that must reach the chain at most once. Every step is idempotent. */
export class Settlements extends Repository {
  readonly #eventsByKind: EventsByKind;
  readonly #together: ReadonlyMap<string, Together>;

  constructor(db: Database, eventsByKind: EventsByKind) {
    super(db);
    this.#eventsByKind = eventsByKind;
    this.#together = togetherByKind(db, eventsByKind);
  }

  /** The commitment that callers of a kind wait for. */
  answersAt(kind: string): AwaitedCommitment {
    return this.#eventsByKind[kind]?.answersAt ?? 'finalized';
  }

  async find(id: string): Promise<SettlementRow | undefined> {
    const stored = await this.db.selectFrom('settlement').selectAll().where('id', '=', id).executeTakeFirst();
    return stored === undefined ? undefined : toSettlementRow(stored);
  }

  /** As `find`; throws NotFound. */
  async get(id: string): Promise<SettlementRow> {
    const row = await this.find(id);
    if (row === undefined) throw noSettlement(id);
    return row;
  }

  /** Every settlement that has not ended, oldest first, read in pages. */
  async *listUnfinished(): AsyncGenerator<SettlementRow> {
    for (let after = 0n; ; ) {
      const page = await this.db
        .selectFrom('settlement')
        .selectAll()
        .where('status', 'in', UNFINISHED)
        .where('position', '>', after)
        .orderBy('position')
        .limit(UNFINISHED_PAGE_SIZE)
        .execute();
      yield* page.map(toSettlementRow);
      const last = page.at(-1);
      if (last === undefined || page.length < UNFINISHED_PAGE_SIZE) return;
      after = last.position;
    }
  }

  /** The settlements among `ids` that a dead attempt has paid, with their reasons: see {@link isPaidByDead}. */
  async paidByDead(ids: readonly string[]): Promise<ReadonlyMap<string, StatusReason>> {
    const rows = await this.db
      .selectFrom('settlement')
      .selectAll()
      .where('id', '=', anyOf(ids))
      .where('status', '=', 'held')
      .where('reasonCode', '=', PAID_BY_DEAD)
      .execute();
    const settlements = rows.map(toSettlementRow);
    return new Map(settlements.flatMap((row) => (isPaidByDead(row) ? [[row.id, row.reason]] : [])));
  }

  /**
   * Changes the status as the state machine permits. An end without payment releases the reservations. So does a wait
   * for the customer, which may never end; a wait for funds keeps them. A repeated end keeps its first reason.
   * A settlement that a dead attempt has paid is returned unchanged.
   * Throws IllegalTransition, also for a wait or an end without payment while an attempt can land. Throws
   * DatabaseIncomplete for an end without payment while a restore can have lost an attempt.
   */
  async move(id: string, to: SettlementStatus, reason: StatusReason | null = null): Promise<SettlementRow> {
    return this.db.transaction().execute(async (trx) => {
      const row = await lockSettlement(trx, id);
      if ((row.status === to && isTerminal(to)) || isPaidByDead(row)) return row;
      if (STATUSES_WITHOUT_ATTEMPT.includes(to) && (await hasAttempt(trx, id, POSSIBLY_PAID_STATES))) {
        const message = `settlement ${id} cannot change to ${to}: an attempt has paid it or may land`;
        throw new DomainError('IllegalTransition', message, { id, to });
      }
      if (UNPAID_ENDS.includes(to)) await refuseIfMaybePaid(trx, id);
      const moved = await enterStatus(trx, this.#eventsByKind, id, to, reason);
      if (to === 'awaiting_confirmation' || isTerminal(to)) await releaseReservations(trx, id);
      return moved;
    });
  }

  /**
   * Stores what nodes report about the signed attempt. Returns false without effect if no attempt is signed, if the
   * state machine forbids the change, or if a dead attempt has paid: a late observation must not undo a verdict.
   */
  async note(
    id: string,
    to: 'sending' | 'confirmed' | 'held',
    reason: StatusReason | null,
  ): Promise<boolean> {
    const isUsual = to === 'confirmed' && reason === null;
    if (isUsual && (await this.#together.get(kindOfSettlement(id))?.confirm(id)) === true) return true;
    return this.db.transaction().execute(async (trx) => {
      const row = await lockSettlement(trx, id);
      if (isPaidByDead(row) || !mayFollow(row.status, to)) return false;
      if (!(await hasAttempt(trx, id, ['signed']))) return false;
      if (row.status !== to || row.reason?.message !== reason?.message)
        await enterStatus(trx, this.#eventsByKind, id, to, reason);
      return true;
    });
  }

  /**
   * Cancels a settlement whose effect exists without it. Customers are not notified, so a restore need not be ruled
   * out. A settlement that a dead attempt has paid is returned unchanged. Throws IllegalTransition.
   */
  async drop(id: string, reason: StatusReason): Promise<SettlementRow> {
    return this.db.transaction().execute(async (trx) => {
      const row = await lockSettlement(trx, id);
      if (row.status === 'cancelled' || isPaidByDead(row)) return row;
      if (await hasAttempt(trx, id, POSSIBLY_PAID_STATES)) {
        const message = `settlement ${id} cannot be dropped: an attempt has paid it or may land`;
        throw new DomainError('IllegalTransition', message, { id });
      }
      return endUnpaid(trx, this.#eventsByKind, id, reason);
    });
  }

  /**
   * Cancels the settlement permanently. Throws NotCancellable while an attempt can land, if the settlement has ended
   * differently, or if its kind forbids it. Attempts that are proved dead, or failed in a block, do not count: the
   * proof that permits a second payment also permits a cancellation. Throws DatabaseIncomplete while an attempt that a
   * restore has lost may have paid the settlement.
   */
  async cancel(id: string, reason: StatusReason): Promise<SettlementRow> {
    return this.db.transaction().execute(async (trx) => {
      const row = await lockSettlement(trx, id);
      if (row.status === 'cancelled') return row;
      if (!mayFollow(row.status, 'cancelled') || (await hasAttempt(trx, id, POSSIBLY_PAID_STATES)))
        throw notCancellable(row);
      if ((await this.#eventsByKind[row.kind]?.mayCancel?.(trx, row)) === false) throw notCancellable(row);
      await refuseIfMaybePaid(trx, id);
      return endUnpaid(trx, this.#eventsByKind, id, reason);
    });
  }

  /**
   * Ends a settlement as paid: an operator found on chain that a dead attempt, or one missing from the database, has
   * paid it. Throws NotCancellable if an attempt can land, if no alert or restore gap suggests such a payment, or if
   * the settlement has ended differently.
   */
  async endAsPaid(id: string, { actor, reason }: OperatorNote): Promise<SettlementRow> {
    return this.db.transaction().execute(async (trx) => {
      const row = await lockSettlement(trx, id);
      if (row.status === 'cancelled' && row.reason?.code === PAID_ALREADY) return row;
      const canEnd = !isTerminal(row.status) && mayFollow(row.status, 'cancelled');
      const payment = await possiblePaymentOf(trx, id);
      if (!canEnd || payment === null || (await hasAttempt(trx, id, POSSIBLY_PAID_STATES)))
        throw notEndable(row, payment);
      const message = `${actor} ended the settlement as paid: ${reason} (${payment.message})`;
      return endUnpaid(trx, this.#eventsByKind, id, { code: PAID_ALREADY, message });
    });
  }

  /** The opposite of {@link endAsPaid}: see {@link judgeLandingFalse}. */
  async continueUnpaid(id: string, note: OperatorNote): Promise<boolean> {
    return this.db.transaction().execute((trx) => judgeLandingFalse(trx, this.#eventsByKind, id, note));
  }
}

/** The sums of reservations are locked last: see `reserveFunds`. */
async function endUnpaid(
  trx: Trx,
  eventsByKind: EventsByKind,
  id: string,
  reason: StatusReason,
): Promise<SettlementRow> {
  const ended = await enterStatus(trx, eventsByKind, id, 'cancelled', reason);
  await closeAlert(trx, KEEPS_FAILING, id);
  await releaseReservations(trx, id);
  return ended;
}

/** A withdrawal must not be reported as unpaid while an attempt that a restore has lost may have paid it. */
async function refuseIfMaybePaid(trx: Trx, id: string): Promise<void> {
  const payment = await possiblePaymentOf(trx, id);
  if (payment === null) return;
  const message = `settlement ${id} cannot end unpaid now: ${payment.message}`;
  throw new DomainError('DatabaseIncomplete', message, { id, reason: payment.code });
}

function notEndable(row: SettlementRow, payment: StatusReason | null): DomainError {
  const { kind, subjectId: id, status } = row;
  const reason =
    payment === null
      ? 'no open alert and no restore suggests a payment that is missing from the database'
      : `it is ${status}`;
  const message = `${kind} ${id} cannot be ended as paid: ${reason}`;
  return new DomainError('NotCancellable', message, { id, status });
}

function notCancellable({ kind, subjectId: id, status }: SettlementRow): DomainError {
  const message = `${kind} ${id} can no longer be cancelled: it is ${status}`;
  return new DomainError('NotCancellable', message, { id, status });
}

async function hasAttempt(
  trx: Trx,
  id: string,
  states: readonly Tables['attempt']['state'][],
): Promise<boolean> {
  const query = trx
    .selectFrom('attempt')
    .select('n')
    .where('settlementId', '=', id)
    .where('state', 'in', states);
  return exists(query);
}
