import { sql } from 'kysely';
import { ALERT_KINDS, type Alarm } from '../../domain/alerts.ts';
import { DomainError } from '../../domain/errors.ts';
import type { OperatorNote } from '../../domain/operator-note.ts';
import { ALL_SETTLEMENTS, isPaidByDead, mayFollow, type PauseScope } from '../../domain/settlement.ts';
import { anyOfNumbers, type Database, exists, Repository, type RowOf, type Trx } from '../database.ts';
import {
  type EventsByKind,
  enterStatus,
  lockIfKnown,
  type SettlementRow,
} from '../settlements/settlement-row.ts';
import { type AlertRow, closeAlerts, PAUSED_SCOPE, raiseAlert } from './alerts.ts';

export type PauseRow = RowOf<'pause'>;

export interface Pausing extends OperatorNote {
  /** Default: everything. */
  readonly scope?: PauseScope | undefined;
}

/** An order to resume, from an operator who has examined the open alerts at these positions. */
export interface Resumption extends Pausing {
  readonly seen?: readonly bigint[];
}

const OPERATOR = 'operator';
const SLUICE = 'sluice';

/**
 * While a pause is open no attempt of its scope is prepared; live attempts are landed as always. Operators and each
 * kind of alert pause separately, so that no pause ends another. A resume ends all pauses of its scope, or every
 * pause, once their alerts were examined.
 */
export class Pauses extends Repository {
  readonly #kinds: EventsByKind;

  constructor(db: Database, kinds: EventsByKind) {
    super(db);
    this.#kinds = kinds;
  }

  /** Oldest first. */
  async open(): Promise<readonly PauseRow[]> {
    return openPauses(this.db);
  }

  /** After the commit no attempt of the scope is prepared. An operator's open pause stays as it is. */
  async begin({ actor, reason, scope = ALL_SETTLEMENTS }: Pausing): Promise<readonly PauseRow[]> {
    return this.db.transaction().execute(async (trx) => {
      await pause(trx, { cause: OPERATOR, scope, reason, actor });
      return openPauses(trx);
    });
  }

  /**
   * Ends every pause, or those of one scope, closes their alerts and returns the pauses. Throws AlertsUnseen with
   * the message of each open alert that is not among `seen`; then no pause ends.
   */
  async end({ actor, reason, seen = [], scope = ALL_SETTLEMENTS }: Resumption): Promise<readonly PauseRow[]> {
    return this.db.transaction().execute(async (trx) => {
      await lockPreparations(trx, 'exclusive');
      const open = await openPauses(trx);
      const pauses = open.filter((one) => scope === ALL_SETTLEMENTS || one.scope === scope);
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
   * Pauses the scope and raises the alert. `hold`: the settlement to hold, unless it has ended. An open alert that
   * paused everything keeps that scope.
   */
  async pauseWithAlert(alarm: Alarm, hold?: string, scope: PauseScope = ALL_SETTLEMENTS): Promise<void> {
    await this.db.transaction().execute(async (trx) => {
      // Locks in the order of a preparation: the settlement, then all preparations.
      const row = hold === undefined ? undefined : await lockIfKnown(trx, hold);
      await pause(trx, { cause: alarm.kind, scope, reason: alarm.message, actor: SLUICE });
      if (row !== undefined) await holdIn(trx, this.#kinds, row, alarm);
      const isWide = scope === ALL_SETTLEMENTS || (await hasPausedAll(trx, alarm));
      const details = { ...alarm.details, ...(isWide ? {} : { scope }) };
      await raiseAlert(trx, { ...alarm, details });
    });
  }
}

async function hasPausedAll(db: Database, { kind, subject }: Alarm): Promise<boolean> {
  const open = db.selectFrom('alert').select('position').where('closedAt', 'is', null);
  const same = open.where('kind', '=', kind).where('subject', '=', subject);
  return exists(same.where(PAUSED_SCOPE, '=', ALL_SETTLEMENTS));
}

/** Preparations share this lock, a pause takes it alone. A separate statement: later reads see awaited commits. */
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

/** The open alerts that began these pauses, oldest first. */
async function alertsOf(db: Database, pauses: readonly PauseRow[]): Promise<readonly AlertRow[]> {
  const kinds = ALERT_KINDS.filter((kind) => pauses.some(({ cause }) => cause === kind));
  if (kinds.length === 0) return [];
  const open = db.selectFrom('alert').selectAll().where('kind', 'in', kinds).where('closedAt', 'is', null);
  const alerts = await open.orderBy('position').execute();
  return alerts.filter(({ kind, details }) =>
    pauses.some(({ cause, scope }) => cause === kind && scope === (details['scope'] ?? ALL_SETTLEMENTS)),
  );
}

function alertsUnseen(unseen: readonly AlertRow[]): DomainError {
  const texts = unseen.map(({ position, kind, message }) => `${position} ${kind}: ${message}`);
  const positions = unseen.map(({ position }) => position.toString());
  const message = `name each open alert that you have examined; missing: ${texts.join('; ')}`;
  return new DomainError('AlertsUnseen', message, { positions });
}

async function pause(trx: Trx, begun: Pick<PauseRow, 'cause' | 'scope' | 'reason' | 'actor'>): Promise<void> {
  await lockPreparations(trx, 'exclusive');
  await trx
    .insertInto('pause')
    .values(begun)
    .onConflict((conflict) => conflict.columns(['cause', 'scope']).where('endedAt', 'is', null).doNothing())
    .execute();
}

async function holdIn(
  trx: Trx,
  kinds: EventsByKind,
  row: SettlementRow,
  { kind, message }: Alarm,
): Promise<void> {
  if (mayFollow(row.status, 'held') && !isPaidByDead(row))
    await enterStatus(trx, kinds, row.id, 'held', { code: kind, message });
}
