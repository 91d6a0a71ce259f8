import { sql } from 'kysely';
import { ALERT_KINDS, type Alarm } from '../../domain/alerts.ts';
import { DomainError } from '../../domain/errors.ts';
import type { OperatorNote } from '../../domain/operator-note.ts';
import { EVERYTHING, isPaidByDead, mayFollow, type PauseScope } from '../../domain/settlement.ts';
import { anyOfNumbers, type Database, exists, Repository, type RowOf, type Trx } from '../database.ts';
import {
  type EventsByKind,
  enterStatus,
  lockIfKnown,
  type SettlementRow,
} from '../settlements/settlement-row.ts';
import { type AlertRow, closeAlerts, PAUSED_SCOPE, raiseAlert } from './alerts.ts';

export type PauseRow = RowOf<'pause'>;

export interface PauseRequest extends OperatorNote {
  /** Default: everything. */
  readonly scope?: PauseScope | undefined;
}

/** A command to resume. `seen`: positions of the open alerts that the operator has examined. */
export interface ResumeRequest extends PauseRequest {
  readonly seen?: readonly bigint[];
}

const OPERATOR_CAUSE = 'operator';
const SLUICE_ACTOR = 'sluice';

/**
 * Pauses of payments. While a pause is open, no attempt in its scope is prepared; attempts that can land are still sent
 * and watched. Operators and each kind of alert have separate pauses, so that none ends another. A resume ends all
 * pauses of its scope, or every pause, if the operator has examined their alerts.
 */
export class Pauses extends Repository {
  readonly #eventsByKind: EventsByKind;

  constructor(db: Database, eventsByKind: EventsByKind) {
    super(db);
    this.#eventsByKind = eventsByKind;
  }

  /** Open pauses, oldest first. */
  async listOpen(): Promise<readonly PauseRow[]> {
    return openPauses(this.db);
  }

  /** Pauses the scope: after the commit, no attempt in it is prepared. An operator's open pause stays unchanged. */
  async begin({ actor, reason, scope = EVERYTHING }: PauseRequest): Promise<readonly PauseRow[]> {
    return this.db.transaction().execute(async (trx) => {
      await insertPause(trx, { cause: OPERATOR_CAUSE, scope, reason, actor });
      return openPauses(trx);
    });
  }

  /**
   * Ends every pause, or those of one scope, closes their alerts, and returns the pauses. Throws AlertsUnseen, and ends
   * no pause, if an open alert is not in `seen`; the error contains the alert's message.
   */
  async end({ actor, reason, seen = [], scope = EVERYTHING }: ResumeRequest): Promise<readonly PauseRow[]> {
    return this.db.transaction().execute(async (trx) => {
      await lockPreparations(trx, 'exclusive');
      const open = await openPauses(trx);
      const pauses = open.filter((row) => scope === EVERYTHING || row.scope === scope);
      const alerts = await alertsOf(trx, pauses);
      const unseen = alerts.filter(({ position }) => !seen.includes(position));
      if (unseen.length > 0) throw alertsUnseen(unseen);
      const ended = await trx
        .updateTable('pause')
        .set({ endedAt: sql<Date>`now()`, endedBy: actor, endedReason: reason })
        .where('endedAt', 'is', null)
        .where('position', '=', anyOfNumbers(pauses.map(({ position }) => position)))
        .returningAll()
        .execute();
      const positions = alerts.map(({ position }) => position);
      if (positions.length > 0) await closeAlerts(trx, (row) => row('position', 'in', positions));
      return ended.toSorted((a, b) => Number(a.position - b.position));
    });
  }

  /**
   * Pauses the scope and raises the alert. The settlement `settlementId` becomes `held` unless it has ended. An open
   * alert that has already paused everything keeps that scope.
   */
  async pauseWithAlert(alarm: Alarm, settlementId?: string, scope: PauseScope = EVERYTHING): Promise<void> {
    await this.db.transaction().execute(async (trx) => {
      // Locks in the same order as a preparation, to avoid deadlocks: first the settlement, then the preparations.
      const row = settlementId === undefined ? undefined : await lockIfKnown(trx, settlementId);
      await insertPause(trx, { cause: alarm.kind, scope, reason: alarm.message, actor: SLUICE_ACTOR });
      if (row !== undefined) await holdSettlement(trx, this.#eventsByKind, row, alarm);
      const pausesAll = scope === EVERYTHING || (await hasPausedAll(trx, alarm));
      const details = { ...alarm.details, ...(pausesAll ? {} : { scope }) };
      await raiseAlert(trx, { ...alarm, details });
    });
  }
}

async function hasPausedAll(db: Database, { kind, subject }: Alarm): Promise<boolean> {
  const open = db.selectFrom('alert').select('position').where('closedAt', 'is', null);
  const sameAlert = open.where('kind', '=', kind).where('subject', '=', subject);
  return exists(sameAlert.where(PAUSED_SCOPE, '=', EVERYTHING));
}

/**
 * Takes the lock of preparations: they share it, a pause has it exclusively. The lock is a separate statement, so that
 * under READ COMMITTED later statements see what was committed while this one waited.
 */
export async function lockPreparations(trx: Trx, mode: 'shared' | 'exclusive'): Promise<void> {
  const key = sql`hashtextextended('sluice/preparations', 0)`;
  await (mode === 'shared'
    ? sql`select pg_advisory_xact_lock_shared(${key})`
    : sql`select pg_advisory_xact_lock(${key})`
  ).execute(trx);
}

export async function openPauses(db: Database): Promise<readonly PauseRow[]> {
  return db.selectFrom('pause').selectAll().where('endedAt', 'is', null).orderBy('position').execute();
}

/** The open alerts that caused these pauses, oldest first. */
async function alertsOf(db: Database, pauses: readonly PauseRow[]): Promise<readonly AlertRow[]> {
  const kinds = ALERT_KINDS.filter((kind) => pauses.some(({ cause }) => cause === kind));
  if (kinds.length === 0) return [];
  const open = db.selectFrom('alert').selectAll().where('kind', 'in', kinds).where('closedAt', 'is', null);
  const alerts = await open.orderBy('position').execute();
  return alerts.filter(({ kind, details }) =>
    pauses.some(({ cause, scope }) => cause === kind && scope === (details['scope'] ?? EVERYTHING)),
  );
}

function alertsUnseen(unseen: readonly AlertRow[]): DomainError {
  const texts = unseen.map(({ position, kind, message }) => `${position} ${kind}: ${message}`);
  const positions = unseen.map(({ position }) => position.toString());
  const message = `open alerts must be examined before payments resume; examine these alerts and list them as seen: ${texts.join('; ')}`;
  return new DomainError('AlertsUnseen', message, { positions });
}

async function insertPause(
  trx: Trx,
  values: Pick<PauseRow, 'cause' | 'scope' | 'reason' | 'actor'>,
): Promise<void> {
  await lockPreparations(trx, 'exclusive');
  await trx
    .insertInto('pause')
    .values(values)
    .onConflict((conflict) => conflict.columns(['cause', 'scope']).where('endedAt', 'is', null).doNothing())
    .execute();
}

async function holdSettlement(
  trx: Trx,
  eventsByKind: EventsByKind,
  row: SettlementRow,
  { kind, message }: Alarm,
): Promise<void> {
  if (mayFollow(row.status, 'held') && !isPaidByDead(row))
    await enterStatus(trx, eventsByKind, row.id, 'held', { code: kind, message });
}
