import { sql } from 'kysely';
import { HALTED, type ScanPosition, type ScanReport, type ScanStatus } from '../../domain/scan.ts';
import { highest } from '../../domain/units.ts';
import { Repository, type RowOf } from '../database.ts';
import { type Cursor, readCursor } from './scan-cursor.ts';
import { openPause } from './scan-pauses.ts';

/** Without a report for this long, the scan is `silent`. Longer than Temporal takes to replace a failed worker. */
const SILENT_AFTER = sql`interval '1 minute'`;
/** Seconds over which the rate is averaged, and the shortest time over which it is measured. */
const RATE_WINDOW_SECONDS = 60;
const MIN_RATE_SECONDS = 2;

/** Status of the scan: the latest report of its worker, combined with the cursor, an open pause and an open gap. */
export class ScanStatusStore extends Repository {
  /**
   * Stores a report and returns the status. A standstill began `haltedMs` ago; if another worker has reported an
   * earlier start, that start remains.
   */
  async report({ state, tip, reason }: ScanReport, haltedMs = 0): Promise<ScanStatus> {
    const isHalt = state === 'gap' || HALTED.some((halted) => halted === state);
    const since = isHalt
      ? sql`now() - ${haltedMs}::float8 * interval '1 millisecond'`
      : sql`null::timestamptz`;
    const seconds = sql`extract(epoch from excluded.at - old.measured_at)::float8`;
    const blocks = sql`(excluded.measured_height - old.measured_height)`;
    const weight = sql`least(1, ${seconds} / ${RATE_WINDOW_SECONDS}::float8)`;
    const isRateReset = sql`${state} = 'paused' or excluded.since is not null or old.at < excluded.at - ${SILENT_AFTER}`;
    const isTooShort = sql`not (${isRateReset}) and ${seconds} < ${MIN_RATE_SECONDS}::float8`;
    await sql`
      insert into scan_status as old (state, reason, tip, since, measured_height)
      values (${state}, ${reason}, ${tip}::bigint, ${since}, (select height from scan_cursor))
      on conflict (one) do update set
        state = excluded.state, reason = excluded.reason, tip = excluded.tip, at = excluded.at,
        since = case when excluded.since is not null then least(old.since, excluded.since) end,
        rate = case
          when ${isRateReset} then null
          when ${isTooShort} then old.rate
          else coalesce(old.rate + ${weight} * (${blocks} / ${seconds} - old.rate), ${blocks} / ${seconds}) end,
        measured_at = case when ${isTooShort} then old.measured_at else excluded.measured_at end,
        measured_height = case when ${isTooShort} then old.measured_height else excluded.measured_height end
      `.execute(this.db);
    return this.read();
  }

  /**
   * Records that a worker is active but has nothing to report. `isCatchingUp`: the worker reads ranges ahead of the
   * cursor. Such reads do not end a standstill: only a commit does.
   */
  async recordActivity(isCatchingUp: boolean): Promise<void> {
    await sql`
      insert into scan_status as old (state) values (${isCatchingUp ? 'catch-up' : 'starting'})
      on conflict (one) do update set
        at = excluded.at,
        state = case when ${isCatchingUp} and old.state in ('starting', 'tail') then 'catch-up' else old.state end
      where old.at < excluded.at - interval '1 second'`.execute(this.db);
  }

  async read(): Promise<ScanStatus> {
    const db = this.db;
    const isSilent = sql<boolean>`at < now() - ${SILENT_AFTER}`.as('isSilent');
    const [row, cursor, pause, gap] = await Promise.all([
      db.selectFrom('scanStatus').selectAll().select(isSilent).executeTakeFirst(),
      readCursor(db),
      openPause(db),
      db.selectFrom('scanGap').select(['fromSlot', 'toSlot']).where('state', '=', 'open').executeTakeFirst(),
    ]);
    const position = positionOf(row, cursor);
    // An open pause takes precedence over any report. A report of a pause or gap that is no longer open is ignored.
    if (pause !== undefined) {
      const { actor, reason, since } = pause;
      return {
        ...position,
        blocksPerSecond: null,
        state: 'paused',
        actor,
        reason,
        since: since.toISOString(),
      };
    }
    if (row === undefined) return { ...position, state: 'absent' };
    if (row.isSilent) return { ...position, tip: null, lag: null, blocksPerSecond: null, state: 'silent' };
    const { state, reason, since } = row;
    if (reason !== null && since !== null) {
      const standstill = { ...position, reason, since: since.toISOString() };
      if (state === 'waiting' || state === 'stopped') return { ...standstill, state };
      if (state === 'gap' && gap !== undefined)
        return { ...standstill, state, gap: { from: gap.fromSlot.toString(), to: gap.toSlot.toString() } };
    }
    return { ...position, state: state === 'tail' || state === 'catch-up' ? state : 'starting' };
  }
}

function positionOf(row: RowOf<'scanStatus'> | undefined, cursor: Cursor | null): ScanPosition {
  const tip = row?.tip ?? null;
  // The worker reads the tip before it commits blocks, so the tip can be behind the cursor.
  const newest = tip === null ? null : highest([tip, cursor?.slot ?? 0n]);
  return {
    cursor:
      cursor === null
        ? null
        : { slot: `${cursor.slot}`, blockhash: cursor.blockhash, height: `${cursor.height}` },
    tip: newest?.toString() ?? null,
    lag: cursor === null || newest === null ? null : (newest - cursor.slot).toString(),
    blocksPerSecond: typeof row?.rate === 'number' ? Math.round(10 * row.rate) / 10 : null,
    at: row?.at.toISOString() ?? null,
  };
}
