import pLimit from 'p-limit';
import { type AuditOrder, auditWorkflowId, isOfGap } from '../../domain/audit.ts';
import { highest } from '../../domain/bigint.ts';
import { rangeOf } from '../../domain/slots.ts';
import type { DepositAddressRow } from '../../ledger/deposits/deposit-address-row.ts';
import type { Ledger } from '../../ledger/ledger.ts';
import type { Runs } from '../../settlement/restart-unfinished.ts';

export interface DueAuditsDeps {
  readonly ledger: Ledger;
  /** Joins the audit of the same order that runs. */
  readonly runs: Pick<Runs, 'startAudit' | 'runningAudits'>;
}

/**
 * So many go on at once, however many are due, and however many processes there are. Each walks all wallets: nodes have other questions to
 * answer.
 */
const GAPS_AT_ONCE = 4;
/** So many have a run: what they ask at once is what the workers of their task queue do at once. */
const IMPORTS_AT_ONCE = 500;
const GAPS_LOOKED_AT = 100;
const STARTED_AT_ONCE = 16;
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
  const holders = placesTaken(running);
  const gapsGoingOn = holders.filter(isOfGap).length;
  const record = await ledger.continuity.record();
  const isIdle = (order: AuditOrder): boolean => !running.has(auditWorkflowId(order));
  const gaps = (await ledger.gapAudits.due(GAPS_LOOKED_AT))
    .map((gap) => auditOfGap(gap, record))
    .filter(isIdle);
  const begun = inTurns(gaps).slice(0, Math.max(0, GAPS_AT_ONCE - gapsGoingOn));
  const most = begun.length + IMPORTS_AT_ONCE - (holders.length - gapsGoingOn);
  const tried: string[] = [];
  for (const row of await ledger.importAudits.due(IMPORTS_AT_ONCE)) {
    if (begun.length >= most) break;
    tried.push(row.address);
    const order = auditOfImport(row, cursor.slot, record);
    if (order !== null && isIdle(order)) begun.push(order);
  }
  await pLimit(STARTED_AT_ONCE).map(begun, (order) => runs.startAudit(order));
  await ledger.importAudits.noteTried(tried);
  return begun.length;
}

function placesTaken(running: ReadonlyMap<string, Date>): readonly string[] {
  const since = Date.now() - HOLDS_PLACE_MS;
  return [...running].flatMap(([workflowId, started]) => (started.getTime() > since ? [workflowId] : []));
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
  return { address: null, ...rangeOf({ from: fromSlot, to: toSlot }), repair: true, cause: 'gap', record };
}

/** Up to where the chain was at its import: what the scan has read of that it read by the word of one node. Null where it has no past. */
function auditOfImport(
  { address, since, watchedAfter, importedAfter }: DepositAddressRow,
  cursor: bigint,
  record: string,
): AuditOrder | null {
  if (since === null) return null;
  const to = highest([watchedAfter ?? cursor, since, importedAfter ?? since]);
  return { address, ...rangeOf({ from: since, to }), repair: true, cause: 'import', record };
}
