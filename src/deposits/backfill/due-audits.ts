import pLimit from 'p-limit';
import type { ImportAuditCommand } from '../../domain/audit.ts';
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

/** Maximum import audits with a running workflow. */
const MAX_RUNNING_AUDITS = 500;
const MAX_CONCURRENT_STARTS = 16;
/**
 * Age of a run after which it no longer counts towards the limit, so that audits that never end do not block others.
 */
const COUNTED_RUN_MS = 3_600_000;

/**
 * Starts the due audits of imported addresses that can have earlier deposits, within the limit. Returns the number of
 * started audits.
 */
export async function startDueAudits({ ledger, runs }: DueAuditsDeps): Promise<number> {
  const cursor = await ledger.scan.cursor();
  if (cursor === null) return 0;
  const running = await runs.runningBackfills();
  const maxStarts = MAX_RUNNING_AUDITS - countedRuns(running);
  const databaseId = await ledger.continuity.databaseId();
  const commands: ImportAuditCommand[] = [];
  const triedAddresses: string[] = [];
  for (const row of await ledger.importAudits.listDue(MAX_RUNNING_AUDITS)) {
    if (commands.length >= maxStarts) break;
    triedAddresses.push(row.address);
    const command = auditCommandOf(row, cursor.slot, databaseId);
    if (command !== null && !running.has(backfillWorkflowId(command))) commands.push(command);
  }
  await pLimit(MAX_CONCURRENT_STARTS).map(commands, (command) => runs.startBackfill(command));
  await ledger.importAudits.noteTried(triedAddresses);
  return commands.length;
}

function countedRuns(running: ReadonlyMap<string, Date>): number {
  const since = Date.now() - COUNTED_RUN_MS;
  return [...running.values()].filter((started) => started.getTime() > since).length;
}

/**
 * The audit of an imported address. It ends at the slot of the import or later, because the scan read the blocks up to
 * there from one node only. Null if the address has no earlier deposits to find.
 */
function auditCommandOf(
  { address, since, watchedAfter, importedAfter }: DepositAddressRow,
  cursor: bigint,
  databaseId: string,
): ImportAuditCommand | null {
  if (since === null) return null;
  const to = highest([watchedAfter ?? cursor, since, importedAfter ?? since]);
  return { address, ...rangeOf({ from: since, to }), repair: true, cause: 'import', databaseId };
}
