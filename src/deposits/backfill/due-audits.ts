import pLimit from 'p-limit';
import type { ImportAuditOrder } from '../../domain/audit.ts';
import { backfillWorkflowId } from '../../domain/backfill.ts';
import { rangeOf } from '../../domain/scan.ts';
import { highest } from '../../domain/units.ts';
import type { DepositAddressRow } from '../../ledger/deposits/deposit-address-row.ts';
import type { Ledger } from '../../ledger/ledger.ts';
import type { WorkflowRuns } from '../../settlement/restart-unfinished.ts';

export interface DueAuditsDeps {
  readonly ledger: Ledger;
  readonly runs: Pick<WorkflowRuns, 'runningBackfills' | 'startBackfill'>;
}

/** Limit on import audits with a run. Activity slots of the workers limit their requests. */
const IMPORTS_AT_ONCE = 500;
const STARTED_AT_ONCE = 16;
/** Milliseconds after which a run frees its place for the next audit. */
const HOLDS_PLACE_MS = 3_600_000;

/**
 * Starts audits of imported addresses with a past, within the limit, and returns their number. They end at the cursor;
 * later slots are scanned. Audits that never end do not block others.
 */
export async function startDueAudits({ ledger, runs }: DueAuditsDeps): Promise<number> {
  const cursor = await ledger.scan.cursor();
  if (cursor === null) return 0;
  const running = await runs.runningBackfills();
  const most = IMPORTS_AT_ONCE - placesTaken(running);
  const databaseId = await ledger.continuity.databaseId();
  const begun: ImportAuditOrder[] = [];
  const tried: string[] = [];
  for (const row of await ledger.importAudits.listDue(IMPORTS_AT_ONCE)) {
    if (begun.length >= most) break;
    tried.push(row.address);
    const order = auditOfImport(row, cursor.slot, databaseId);
    if (order !== null && !running.has(backfillWorkflowId(order))) begun.push(order);
  }
  await pLimit(STARTED_AT_ONCE).map(begun, (order) => runs.startBackfill(order));
  await ledger.importAudits.noteTried(tried);
  return begun.length;
}

function placesTaken(running: ReadonlyMap<string, Date>): number {
  const since = Date.now() - HOLDS_PLACE_MS;
  return [...running.values()].filter((started) => started.getTime() > since).length;
}

/** Ends at the slot of the import: the scan read up to it from one node only. Null without a past. */
function auditOfImport(
  { address, since, watchedAfter, importedAfter }: DepositAddressRow,
  cursor: bigint,
  databaseId: string,
): ImportAuditOrder | null {
  if (since === null) return null;
  const to = highest([watchedAfter ?? cursor, since, importedAfter ?? since]);
  return { address, ...rangeOf({ from: since, to }), repair: true, cause: 'import', record: databaseId };
}
