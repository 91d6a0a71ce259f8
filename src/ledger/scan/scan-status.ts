import { sql } from 'kysely';
import { HALTED, type ScanPosition, type ScanReport, type ScanStatus } from '../../domain/scan.ts';
import type { Database } from '../database.ts';

/** After this time without a report the scan is `silent`. A worker that dies is replaced sooner. */
const SILENT_AFTER = sql`interval '1 minute'`;
/** Time over which the rate is averaged, and the shortest time over which it is measured, in seconds. */
const AVERAGED_SECONDS = 60;
const MEASURED_SECONDS = 2;

/** The row that workers of the scan write. API, metrics and alerts read it with cursor, pause and gap. */
export class ScanStatusRow {
  readonly #db: Database;

  constructor(db: Database) {
    this.#db = db;
  }

  /**
   * Stores a report and returns the status. A standstill keeps its start over workers; a new one began `haltedMs`
   * ago.
   */
  async report({ state, tip, reason }: ScanReport, haltedMs = 0): Promise<ScanStatus> {
    const isHalt = state === 'gap' || HALTED.some((one) => one === state);
    const since = isHalt
      ? sql`now() - ${haltedMs}::float8 * interval '1 millisecond'`
      : sql`null::timestamptz`;
    const seconds = sql`extract(epoch from excluded.at - old.measured_at)::float8`;
    const blocks = sql`(excluded.measured_height - old.measured_height)`;
    const weight = sql`least(1, ${seconds} / ${AVERAGED_SECONDS}::float8)`;
    const isOver = sql`${state} = 'paused' or excluded.since is not null or old.at < excluded.at - ${SILENT_AFTER}`;
    const isShort = sql`not (${isOver}) and ${seconds} < ${MEASURED_SECONDS}::float8`;
    await sql`
      insert into scan_status as old (state, reason, tip, since, measured_height)
      values (${state}, ${reason}, ${tip}::bigint, ${since}, (select height from scan_cursor))
      on conflict (one) do update set
        state = excluded.state, reason = excluded.reason, tip = excluded.tip, at = excluded.at,
        since = case when excluded.since is not null then least(old.since, excluded.since) end,
        rate = case
          when ${isOver} then null
          when ${isShort} then old.rate
          else coalesce(old.rate + ${weight} * (${blocks} / ${seconds} - old.rate), ${blocks} / ${seconds}) end,
        measured_at = case when ${isShort} then old.measured_at else excluded.measured_at end,
        measured_height = case when ${isShort} then old.measured_height else excluded.measured_height end
      `.execute(this.#db);
    return this.read();
  }

  /**
   * A worker is at work but has nothing to report. `isCatchingUp`: it reads ranges ahead, which ends no standstill
   * before they are joined.
   */
  async touch(isCatchingUp: boolean): Promise<void> {
    await sql`
      insert into scan_status as old (state) values (${isCatchingUp ? 'catch-up' : 'starting'})
      on conflict (one) do update set
        at = excluded.at,
        state = case when ${isCatchingUp} and old.state in ('starting', 'tail') then 'catch-up' else old.state end
      where old.at < excluded.at - interval '1 second'`.execute(this.#db);
  }

  async read(): Promise<ScanStatus> {
    const { rows } = await sql<StatusParts>`
      select status.state, status.reason, status.since, status.at, status.tip, status.rate,
        status.at < now() - ${SILENT_AFTER} as is_silent,
        cursor.slot, cursor.blockhash, cursor.height,
        pause.actor as paused_by, pause.reason as pause_reason, pause.since as paused_since,
        gap.from_slot, gap.to_slot
      from (values (true)) as one
        left join scan_cursor cursor on true
        left join scan_status status on true
        left join scan_pause pause on pause.ended_at is null
        left join scan_gap gap on gap.state = 'open'`.execute(this.#db);
    const [parts] = rows;
    if (parts === undefined) throw new TypeError('one row is selected');
    return statusOf(parts);
  }
}

interface StatusParts {
  readonly state: ScanReport['state'] | null;
  readonly reason: string | null;
  readonly since: Date | null;
  readonly at: Date | null;
  readonly tip: bigint | null;
  readonly rate: number | null;
  readonly isSilent: boolean | null;
  readonly slot: bigint | null;
  readonly blockhash: string | null;
  readonly height: bigint | null;
  readonly pausedBy: string | null;
  readonly pauseReason: string | null;
  readonly pausedSince: Date | null;
  readonly fromSlot: bigint | null;
  readonly toSlot: bigint | null;
}

/** A pause counts before every report. A report of a pause or gap that has ended since is outdated. */
function statusOf(parts: StatusParts): ScanStatus {
  const { state, reason, since, isSilent, pausedBy, pauseReason, pausedSince, fromSlot, toSlot } = parts;
  const position = positionOf(parts);
  if (pausedBy !== null && pauseReason !== null && pausedSince !== null) {
    const pause = { actor: pausedBy, reason: pauseReason, since: pausedSince.toISOString() };
    return { ...position, blocksPerSecond: null, state: 'paused', ...pause };
  }
  if (state === null) return { ...position, state: 'absent' };
  if (isSilent === true) return { ...position, tip: null, lag: null, blocksPerSecond: null, state: 'silent' };
  if (reason !== null && since !== null) {
    const standstill = { ...position, reason, since: since.toISOString() };
    if (state === 'waiting' || state === 'stopped') return { ...standstill, state };
    if (state === 'gap' && fromSlot !== null && toSlot !== null)
      return { ...standstill, state, gap: { from: fromSlot.toString(), to: toSlot.toString() } };
  }
  return { ...position, state: state === 'tail' || state === 'catch-up' ? state : 'starting' };
}

function positionOf({ slot, blockhash, height, tip, rate, at }: StatusParts): ScanPosition {
  const cursor =
    slot === null || blockhash === null || height === null
      ? null
      : { slot: slot.toString(), blockhash, height: height.toString() };
  // The tip was read before the newest blocks, so it may be behind the cursor.
  const highest = slot !== null && tip !== null && tip < slot ? slot : tip;
  return {
    cursor,
    tip: highest?.toString() ?? null,
    lag: slot === null || highest === null ? null : (highest - slot).toString(),
    blocksPerSecond: rate === null ? null : Math.round(10 * rate) / 10,
    at: at?.toISOString() ?? null,
  };
}
