import { type Expression, type ExpressionBuilder, type SqlBool, sql } from 'kysely';
import {
  ACKNOWLEDGED_ALERTS,
  ALERT_KINDS,
  type Alarm,
  type AlertKind,
  SETTLEMENT_ALERTS,
} from '../../domain/alerts.ts';
import { DomainError } from '../../domain/errors.ts';
import type { OperatorNote } from '../../domain/operator-note.ts';
import { ALL_SETTLEMENTS, PAID_BY_DEAD, type PauseScope } from '../../domain/settlement.ts';
import {
  anyOf,
  anyOfNumbers,
  COUNT,
  exists,
  Repository,
  type RowOf,
  type Tables,
  type Trx,
} from '../database.ts';
import { type Page, type PageRequest, positionBefore, readPage } from '../page.ts';
import { alertOutboxEvent } from '../webhooks/events.ts';
import { writeEvent } from '../webhooks/outbox.ts';

export type AlertRow = RowOf<'alert'>;

export interface AlertFilter extends PageRequest {
  /** true: only open alerts; false: only closed alerts. Default: both. */
  readonly open?: boolean | undefined;
}

/** The scope that an alert's pause covers; meaningful only for kinds of alert that pause. */
export const PAUSED_SCOPE = sql<string>`coalesce(alert.details ->> 'scope', ${ALL_SETTLEMENTS})`;

/** True if an operator has closed the alert with a note; false for alerts that a resume or their cause has closed. */
export const WAS_JUDGED = sql<boolean>`alert.details ->> 'closedBy' is not null`;

/** Alerts for operators. At most one alert of each kind and subject is open. */
export class Alerts extends Repository {
  /** Opens the alert. If it is already open, increments its count and replaces its message and details. */
  raise(alarm: Alarm): Promise<AlertRow> {
    return this.db.transaction().execute((trx) => raiseAlert(trx, alarm));
  }

  /** Closes the alert. Returns false if it was not open. `note`: the operator who closed it, and the reason. */
  async close(kind: AlertKind, subject: string, note?: OperatorNote): Promise<boolean> {
    return this.db.transaction().execute((trx) => closeAlert(trx, kind, subject, note));
  }

  /**
   * Closes the open alerts at these positions and returns them; their details get the operator's note as `closedBy`
   * and `closedReason`. Throws InvalidRequest, and closes none, if the kind of one of them cannot be acknowledged.
   */
  async acknowledge(positions: readonly bigint[], note: OperatorNote): Promise<readonly AlertRow[]> {
    return this.db.transaction().execute(async (trx) => {
      const refused = await trx
        .selectFrom('alert')
        .select(['position', 'kind'])
        .where('position', '=', anyOfNumbers(positions))
        .where('kind', 'not in', ACKNOWLEDGED_ALERTS)
        .execute();
      if (refused.length > 0) throw cannotAcknowledge(refused);
      return closeAlerts(trx, (row) => row('position', '=', anyOfNumbers(positions)), note);
    });
  }

  /** Raises `alarms`, and closes all other open alerts of these kinds. */
  async syncOpen(kinds: readonly AlertKind[], alarms: readonly Alarm[]): Promise<void> {
    await this.db.transaction().execute((trx) => syncOpenAlerts(trx, kinds, alarms));
  }

  /** Closes open alerts of these kinds that were last raised more than `seconds` ago. */
  async closeStale(kinds: readonly AlertKind[], seconds: number): Promise<void> {
    const isStale = (row: ExpressionBuilder<Tables, 'alert'>) =>
      row.and([
        row('kind', 'in', kinds),
        row('lastSeenAt', '<', sql<Date>`now() - make_interval(secs => ${seconds})`),
      ]);
    await this.db.transaction().execute((trx) => closeAlerts(trx, isStale));
  }

  /** Lists alerts, newest first. Throws InvalidRequest for a cursor that is not from an earlier page. */
  async list(filter: AlertFilter): Promise<Page<AlertRow>> {
    const { open } = filter;
    let query = this.db.selectFrom('alert').selectAll().where('position', '<', positionBefore(filter));
    if (open !== undefined) query = query.where('closedAt', open ? 'is' : 'is not', null);
    return readPage(query.orderBy('position', 'desc'), filter);
  }

  /** Open alerts about the settlement, newest first. */
  async listOpenAbout(settlementId: string): Promise<readonly AlertRow[]> {
    return this.db
      .selectFrom('alert')
      .selectAll()
      .where('subject', '=', settlementId)
      .where('kind', 'in', SETTLEMENT_ALERTS)
      .where('closedAt', 'is', null)
      .orderBy('position', 'desc')
      .execute();
  }

  /** The number of open alerts of every kind, including kinds with 0. */
  async countOpenByKind(): Promise<ReadonlyMap<AlertKind, number>> {
    const rows = await this.db
      .selectFrom('alert')
      .select('kind')
      .select(COUNT.as('open'))
      .where('closedAt', 'is', null)
      .groupBy('kind')
      .execute();
    const counts = new Map(rows.map((row) => [row.kind, row.open]));
    return new Map(ALERT_KINDS.map((kind) => [kind, counts.get(kind) ?? 0]));
  }

  /**
   * The subjects that ever had an alert of this kind, open or closed, which paused this scope or everything. An alert
   * with `maybePaid: null` is excluded: the search for withdrawals that it may have paid has not ended.
   */
  async subjectsEverRaised(
    kind: AlertKind,
    subjects: readonly string[],
    scope: PauseScope = ALL_SETTLEMENTS,
  ): Promise<ReadonlySet<string>> {
    const rows = await this.db
      .selectFrom('alert')
      .select('subject')
      .where('kind', '=', kind)
      .where('subject', '=', anyOf(subjects))
      .where(PAUSED_SCOPE, 'in', [ALL_SETTLEMENTS, scope])
      .where(sql<boolean>`details -> 'maybePaid' is distinct from 'null'`)
      .execute();
    return new Set(rows.map((row) => row.subject));
  }

  /**
   * True if the settlement has a `dead_attempt_landed` in this scope, open or closed by a resume. If an operator has
   * closed it with a note, it counts only for the same signature reported by the same nodes.
   */
  async isLandingKnown(
    settlementId: string,
    { signature, shownBy }: { readonly signature: string; readonly shownBy: readonly string[] },
    scope: PauseScope,
  ): Promise<boolean> {
    const proof = JSON.stringify({ signature, shownBy });
    return exists(
      this.db
        .selectFrom('alert')
        .select('position')
        .where('kind', '=', PAID_BY_DEAD)
        .where('subject', '=', settlementId)
        .where(PAUSED_SCOPE, 'in', [ALL_SETTLEMENTS, scope])
        .where(sql<boolean>`(not (${WAS_JUDGED}) or details @> ${proof}::jsonb)`),
    );
  }

  /**
   * Stores in the alert, open or closed, which withdrawals an unknown spend may have paid. This ends the search for
   * them.
   */
  async noteMaybePaid(signature: string, maybePaid: readonly string[]): Promise<void> {
    const found = JSON.stringify({ maybePaid });
    await this.db
      .updateTable('alert')
      .set({ details: sql<string>`details || ${found}::jsonb` })
      .where('kind', '=', 'unknown_spend')
      .where('subject', '=', signature)
      .where(sql<boolean>`details -> 'maybePaid' = 'null'`)
      .execute();
  }
}

/** {@link Alerts.raise} in the caller's transaction. Writes a webhook event if the alert was not open. */
export async function raiseAlert(
  trx: Trx,
  { kind, subject, message, details = {} }: Alarm,
): Promise<AlertRow> {
  const row = await trx
    .insertInto('alert')
    .values({ kind, subject, message, details: JSON.stringify(details) })
    .onConflict((conflict) =>
      conflict
        .columns(['kind', 'subject'])
        .where('closedAt', 'is', null)
        .doUpdateSet((excluded) => ({
          message: excluded.ref('excluded.message'),
          details: excluded.ref('excluded.details'),
          lastSeenAt: sql<Date>`now()`,
          count: sql<number>`alert.count + 1`,
        })),
    )
    .returningAll()
    .executeTakeFirstOrThrow();
  if (row.count === 1) await writeEvent(trx, alertOutboxEvent('alert.raised', row));
  return row;
}

/** {@link Alerts.syncOpen} in the caller's transaction. If `wallets` is set, closes only alerts about one of them. */
export async function syncOpenAlerts(
  trx: Trx,
  kinds: readonly AlertKind[],
  alarms: readonly Alarm[],
  wallets?: readonly string[],
): Promise<void> {
  const open = await trx
    .selectFrom('alert')
    .select(['position', 'kind', 'subject'])
    .where('kind', 'in', kinds)
    .where('closedAt', 'is', null)
    .$if(wallets !== undefined, (query) =>
      query.where(sql<string>`details ->> 'wallet'`, '=', anyOf(wallets ?? [])),
    )
    .execute();
  const outdated = open.filter(
    (row) => !alarms.some(({ kind, subject }) => kind === row.kind && subject === row.subject),
  );
  const positions = outdated.map((row) => row.position);
  if (positions.length > 0) await closeAlerts(trx, (row) => row('position', 'in', positions));
  for (const alarm of alarms) await raiseAlert(trx, alarm);
}

/** {@link Alerts.close} in the caller's transaction. */
export async function closeAlert(
  trx: Trx,
  kind: AlertKind,
  subject: string,
  note?: OperatorNote,
): Promise<boolean> {
  const isThisAlert = (row: ExpressionBuilder<Tables, 'alert'>) =>
    row.and([row('kind', '=', kind), row('subject', '=', subject)]);
  return (await closeAlerts(trx, isThisAlert, note)).length > 0;
}

/**
 * Closes the open alerts for which `match` is true and returns them. An operator's `note` is added to their details.
 */
export async function closeAlerts(
  trx: Trx,
  match: (row: ExpressionBuilder<Tables, 'alert'>) => Expression<SqlBool>,
  note?: OperatorNote,
): Promise<readonly AlertRow[]> {
  const noteJson = JSON.stringify(
    note === undefined ? {} : { closedBy: note.actor, closedReason: note.reason },
  );
  const closed = await trx
    .updateTable('alert')
    .set({ closedAt: sql<Date>`now()`, details: sql<string>`details || ${noteJson}::jsonb` })
    .where('closedAt', 'is', null)
    .where(match)
    .returningAll()
    .execute();
  for (const row of closed) await writeEvent(trx, alertOutboxEvent('alert.closed', row));
  return closed;
}

/** Adds the note to closed alerts of this kind and subject that have no note. Returns false if there are none. */
export async function noteJudgment(
  trx: Trx,
  kind: AlertKind,
  subject: string,
  note: OperatorNote,
): Promise<boolean> {
  const noteJson = JSON.stringify({ closedBy: note.actor, closedReason: note.reason });
  const { numUpdatedRows } = await trx
    .updateTable('alert')
    .set({ details: sql<string>`details || ${noteJson}::jsonb` })
    .where('kind', '=', kind)
    .where('subject', '=', subject)
    .where('closedAt', 'is not', null)
    .where(sql<boolean>`not (${WAS_JUDGED})`)
    .executeTakeFirstOrThrow();
  return numUpdatedRows > 0n;
}

function cannotAcknowledge(refused: readonly Pick<AlertRow, 'position' | 'kind'>[]): DomainError {
  const list = refused.map(({ position, kind }) => `${position} (${kind})`).join(', ');
  const message = `these alerts cannot be acknowledged; each closes when its cause ends, or by the command in its runbook: ${list}`;
  return new DomainError('InvalidRequest', message, { field: 'seen' });
}
