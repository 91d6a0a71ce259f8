import { type AuditOrder, auditWorkflowId } from '../domain/audit.ts';
import type { DepositAddressRow } from '../ledger/deposit-addresses.ts';
import type { Ledger } from '../ledger/ledger.ts';
import type { Runs } from './orphans.ts';

export interface DueAuditsDeps {
  readonly ledger: Ledger;
  /** Joins the audit of the same order that runs. */
  readonly runs: Pick<Runs, 'startAudit' | 'runningAudits'>;
}

/** So many run at once, however many are due, and however many processes there are: nodes have other questions to answer. */
const AT_ONCE = 8;
const LOOKED_AT = 100;
/** One that has gone on for longer holds no place: the next one has its turn beside it. */
const HOLDS_PLACE_MS = 3_600_000;
const ROUND_MS = 60_000;

/**
 * Starts audits that the record still waits for, as many as have a place: gaps that were closed by hand, and addresses that were
 * imported with a past. Only up to the cursor: what comes after it is scanned. Each has its turn, however many never end. Answers how
 * many it started.
 */
export async function startDueAudits({ ledger, runs }: DueAuditsDeps): Promise<number> {
  const cursor = await ledger.scan.cursor();
  if (cursor === null) return 0;
  const running = await runs.runningAudits();
  const free = AT_ONCE - placesTaken(running);
  if (free <= 0) return 0;
  const record = await ledger.continuity.record();
  const isIdle = (order: AuditOrder): boolean => !running.has(auditWorkflowId(order));
  const gaps = (await ledger.gapAudits.due(LOOKED_AT)).map((gap) => auditOfGap(gap, record)).filter(isIdle);
  // No more than half of the places: gaps of which nodes never show all leave imports the others.
  const begun = inTurns(gaps).slice(0, Math.ceil(free / 2));
  const tried: string[] = [];
  for (const row of await ledger.addresses.toAudit(LOOKED_AT)) {
    if (begun.length >= free) break;
    tried.push(row.address);
    const order = auditOfImport(row, cursor.slot, record);
    if (order !== null && isIdle(order)) begun.push(order);
  }
  for (const order of begun) await runs.startAudit(order);
  await ledger.addresses.noteTried(tried);
  return begun.length;
}

function placesTaken(running: ReadonlyMap<string, Date>): number {
  const since = Date.now() - HOLDS_PLACE_MS;
  return [...running.values()].filter((started) => started.getTime() > since).length;
}

/** Begins each round with the next one. */
function inTurns<T>(all: readonly T[]): readonly T[] {
  const first = all.length === 0 ? 0 : Math.floor(Date.now() / ROUND_MS) % all.length;
  return [...all.slice(first), ...all.slice(0, first)];
}

function auditOfGap(
  { fromSlot, toSlot }: { readonly fromSlot: bigint; readonly toSlot: bigint },
  record: string,
): AuditOrder {
  return { address: null, from: `${fromSlot}`, to: `${toSlot}`, repair: true, cause: 'gap', record };
}

/** Null where it cannot begin yet. */
function auditOfImport(
  { address, since, watchedAfter }: DepositAddressRow,
  cursor: bigint,
  record: string,
): AuditOrder | null {
  const to = watchedAfter ?? cursor;
  // Watched from ahead of the cursor on, where ranges are staged: their blocks are to be committed first.
  if (since === null || to > cursor) return null;
  return { address, from: `${since}`, to: `${to}`, repair: true, cause: 'import', record };
}
