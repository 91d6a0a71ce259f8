import pLimit from 'p-limit';
import { type AuditOrder, auditWorkflowId, isOfGap } from '../../domain/audit.ts';
import { highest } from '../../domain/bigint.ts';
import { rangeOf } from '../../domain/slots.ts';
import type { DepositAddressRow } from '../../ledger/deposits/deposit-address-row.ts';
import type { Ledger } from '../../ledger/ledger.ts';
import type { Runs } from '../../settlement/restart-unfinished.ts';

export interface DueAuditsDeps {
  readonly ledger: Ledger;
  /** Joins a running audit of the same order. */
  readonly runs: Pick<Runs, 'startAudit' | 'runningAudits'>;
}

/** Limit on concurrent gap audits, over all processes. Each reads all wallets, and nodes must serve other requests. */
const GAPS_AT_ONCE = 4;
/** Limit on import audits with a run. Activity slots of the workers limit their requests. */
const IMPORTS_AT_ONCE = 500;
const GAPS_LOOKED_AT = 100;
const STARTED_AT_ONCE = 16;
/** Milliseconds after which a run frees its place for the next audit. */
const HOLDS_PLACE_MS = 3_600_000;
const ROUND_MS = 60_000;

/**
 * Starts audits within the limits and returns their number: gaps closed by an operator, and imported addresses with a
 * past. They end at the cursor; later slots are scanned. Audits that never end do not block others.
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

/** Rotates the start, so that each gap gets its turn. */
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

/** Ends at the slot of the import: the scan read up to it from one node only. Null without a past. */
function auditOfImport(
  { address, since, watchedAfter, importedAfter }: DepositAddressRow,
  cursor: bigint,
  record: string,
): AuditOrder | null {
  if (since === null) return null;
  const to = highest([watchedAfter ?? cursor, since, importedAfter ?? since]);
  return { address, ...rangeOf({ from: since, to }), repair: true, cause: 'import', record };
}
