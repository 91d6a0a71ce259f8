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
import { alertNews } from '../webhooks/events.ts';
import { writeEvent } from '../webhooks/outbox.ts';

export type AlertRow = RowOf<'alert'>;

export interface AlertFilter extends PageRequest {
  /** true: open alerts only; false: closed ones only. */
  readonly open?: boolean | undefined;
}

/** The scope that an alert has paused, if its kind pauses. */
export const PAUSED_SCOPE = sql<string>`coalesce(alert.details ->> 'scope', ${ALL_SETTLEMENTS})`;

/** True if an operator has judged the alert; false if a resume has closed it. */
export const WAS_JUDGED = sql<boolean>`alert.details ->> 'closedBy' is not null`;

/** Everything that operators must know. At most one alert of a kind and subject is open. */
export class Alerts extends Repository {
  /** Opens the alert. If it is open, counts it again and replaces its message and details. */
  raise(alarm: Alarm): Promise<AlertRow> {
    return this.db.transaction().execute((trx) => raiseAlert(trx, alarm));
  }

  /** Closes the alert. Returns false if it was not open. `note`: the operator who judged it, and the reason. */
  async close(kind: AlertKind, subject: string, note?: OperatorNote): Promise<boolean> {
    return this.db.transaction().execute((trx) => closeAlert(trx, kind, subject, note));
  }

  /**
   * Closes the open alerts at these positions and returns them; their details get the operator's note as `closedBy`
   * and `closedReason`. Throws InvalidRequest if one of them closes otherwise; then none is closed.
   */
  async endSeen(seen: readonly bigint[], note: OperatorNote): Promise<readonly AlertRow[]> {
    return this.db.transaction().execute(async (trx) => {
      const positions = seen.map(String);
      const others = await trx
        .selectFrom('alert')
        .select(['position', 'kind'])
        .where('position', '=', anyOfNumbers(positions))
        .where('kind', 'not in', ACKNOWLEDGED_ALERTS)
        .execute();
      if (others.length > 0) throw endsOtherwise(others);
      return closeAlerts(trx, (row) => row('position', '=', anyOfNumbers(positions)), note);
    });
  }

  /** Raises these alerts, and closes all other open ones of these kinds. */
  async keepOnly(kinds: readonly AlertKind[], alarms: readonly Alarm[]): Promise<void> {
    await this.db.transaction().execute((trx) => keepOnlyAlerts(trx, kinds, alarms));
  }

  /** Closes open alerts of these kinds that were not raised again for so long. */
  async closeUnseen(kinds: readonly AlertKind[], seconds: number): Promise<void> {
    const isUnseen = (row: ExpressionBuilder<Tables, 'alert'>) =>
      row.and([
        row('kind', 'in', kinds),
        row('lastSeenAt', '<', sql<Date>`now() - make_interval(secs => ${seconds})`),
      ]);
    await this.db.transaction().execute((trx) => closeAlerts(trx, isUnseen));
  }

  /** Newest first. Throws InvalidRequest for a cursor that is not from an earlier page. */
  async list(filter: AlertFilter): Promise<Page<AlertRow>> {
    const { open } = filter;
    let query = this.db.selectFrom('alert').selectAll().where('position', '<', positionBefore(filter));
    if (open !== undefined) query = query.where('closedAt', open ? 'is' : 'is not', null);
    return readPage(query.orderBy('position', 'desc'), filter);
  }

  /** Newest first. */
  async openAbout(settlementId: string): Promise<readonly AlertRow[]> {
    return this.db
      .selectFrom('alert')
      .selectAll()
      .where('subject', '=', settlementId)
      .where('kind', 'in', SETTLEMENT_ALERTS)
      .where('closedAt', 'is', null)
      .orderBy('position', 'desc')
      .execute();
  }

  /** The number of open alerts of every kind; 0 if there are none. */
  async openByKind(): Promise<ReadonlyMap<AlertKind, number>> {
    const rows = await this.db
      .selectFrom('alert')
      .select('kind')
      .select(COUNT.as('open'))
      .where('closedAt', 'is', null)
      .groupBy('kind')
      .execute();
    const open = new Map(rows.map((row) => [row.kind, row.open]));
    return new Map(ALERT_KINDS.map((kind) => [kind, open.get(kind) ?? 0]));
  }

  /**
   * The subjects that ever had such an alert that paused this scope or everything, even if closed. `maybePaid: null`
   * does not count: the search for withdrawals has not ended.
   */
  async everRaised(
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
   * True if the settlement has a `dead_attempt_landed` in this scope that was not judged as false. An alert judged
   * as false counts only for the same signature, shown by the same nodes.
   */
  async knowsLanding(
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

  /** Ends the search for withdrawals that an unknown spend may have paid: its alert names them, even if closed. */
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

/** {@link Alerts.raise} in the caller's transaction. Writes a webhook event the first time. */
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
  if (row.count === 1) await writeEvent(trx, alertNews('alert.raised', row));
  return row;
}

/**
 * {@link Alerts.keepOnly} in the caller's transaction; with `wallets`, for alerts with `details.wallet` among them.
 */
export async function keepOnlyAlerts(
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
    .$if(wallets !== undefined, (open) =>
      open.where(sql<string>`details ->> 'wallet'`, '=', anyOf(wallets ?? [])),
    )
    .execute();
  const ended = open.filter(
    (row) => !alarms.some((one) => one.kind === row.kind && one.subject === row.subject),
  );
  const positions = ended.map((row) => row.position);
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
  const isOne = (row: ExpressionBuilder<Tables, 'alert'>) =>
    row.and([row('kind', '=', kind), row('subject', '=', subject)]);
  return (await closeAlerts(trx, isOne, note)).length > 0;
}

/** Closes open alerts that `match`, with the operator's note if there is one, and returns them. */
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
  for (const row of closed) await writeEvent(trx, alertNews('alert.closed', row));
  return closed;
}

/** Adds the note to closed alerts of this kind and subject without one. Returns false if there are none. */
export async function noteJudged(
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

function endsOtherwise(others: readonly Pick<AlertRow, 'position' | 'kind'>[]): DomainError {
  const list = others.map(({ position, kind }) => `${position} (${kind})`).join(', ');
  const message = `these alerts close with their cause, or by the command that settles it: ${list}`;
  return new DomainError('InvalidRequest', message, { field: 'seen' });
}
