import type { AuditOrder } from '../domain/audit.ts';
import type { Ledger } from '../ledger/ledger.ts';
import type { Runs } from './orphans.ts';

export interface DueAuditsDeps {
  readonly ledger: Ledger;
  /** Joins the audit of the same order that runs. */
  readonly runs: Pick<Runs, 'startAudit'>;
}

const AT_ONCE = 100;

/**
 * Starts the audits that the record still waits for: gaps that were closed by hand, and addresses that were imported with a past.
 * Only up to the cursor: what comes after it is scanned. Some a round, each in its turn, however many never end. Answers how many
 * it started or joined.
 */
export async function startDueAudits({ ledger, runs }: DueAuditsDeps): Promise<number> {
  const cursor = await ledger.scan.cursor();
  if (cursor === null) return 0;
  const record = await ledger.continuity.record();
  const gaps = (await ledger.gaps.toAudit(AT_ONCE)).map(
    ({ fromSlot, toSlot }): AuditOrder => ({
      address: null,
      from: fromSlot.toString(),
      to: toSlot.toString(),
      repair: true,
      cause: 'gap',
      record,
    }),
  );
  const addresses = await ledger.addresses.toAudit(AT_ONCE);
  const imports = addresses.flatMap((row): AuditOrder[] => {
    const to = row.watchedAfter ?? cursor.slot;
    // Watched from ahead of the cursor on, where ranges are staged: their blocks are to be committed first.
    if (row.since === null || to > cursor.slot) return [];
    const from = row.since;
    return [{ address: row.address, from: `${from}`, to: `${to}`, repair: true, cause: 'import', record }];
  });
  const due = [...gaps, ...imports];
  for (const order of due) await runs.startAudit(order);
  await ledger.addresses.noteTried(addresses.map(({ address }) => address));
  return due.length;
}
