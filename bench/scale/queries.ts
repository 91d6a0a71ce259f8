import { openLedger } from '../../src/ledger/ledger.ts';
import { Capture, type CapturedQuery, type PlanNode, pairwiseReads, wholeReads } from './capture.ts';
import { readAlarms, readLists, readOnes, sampleOf } from './reads.ts';
import { GROWING } from './rows.ts';
import { withClient } from './server.ts';
import { writeFew, writeOthers, writePayments, writeWithdrawals } from './writes.ts';

/** A query that reads more of a table of history than it needs. */
export interface HistoryRead {
  readonly name: string;
  readonly table: string;
  readonly sql: string;
}

export interface Captured {
  readonly queries: readonly CapturedQuery[];
  readonly called: ReadonlySet<string>;
}

/** Every query that the API, the workers and the alarms make, captured from the ledger itself in a filled database. */
export async function captureQueries(url: string, rows: number, runs: number): Promise<Captured> {
  const sample = await sampleOf(url, rows);
  // A database that an earlier run has kept would else count as restored.
  await withClient(url, (client) => client.query('delete from continuity'));
  const capture = new Capture(runs);
  let label = '';
  await capture.during(async () => {
    // Opened here, because a connection keeps the query method that it finds when it is made.
    const ledger = await openLedger(url);
    const captured = capture.ledger(ledger, () => label);
    try {
      await readLists(captured, sample, (text) => {
        label = text;
      });
      await readOnes(captured, sample);
      await readAlarms(captured, sample);
      await writeWithdrawals(captured);
      await writePayments(captured);
      await writeOthers(captured, sample);
      await writeFew(captured);
    } finally {
      await ledger.close();
    }
  });
  return capture;
}

/** Those of the queries that read a table of history whole. */
export function wholeReadsOf(queries: readonly CapturedQuery[]): readonly HistoryRead[] {
  return readsOf(queries, wholeReads);
}

/** Those of the queries that compare each row of one table with several rows of a table of history. */
export function pairwiseReadsOf(queries: readonly CapturedQuery[]): readonly HistoryRead[] {
  return readsOf(queries, pairwiseReads);
}

function readsOf(
  queries: readonly CapturedQuery[],
  tablesOf: (plan: PlanNode) => readonly string[],
): readonly HistoryRead[] {
  const growing: readonly string[] = GROWING;
  return queries.flatMap(({ name, sql, plan }) =>
    tablesOf(plan)
      .filter((table) => growing.includes(table))
      .map((table) => ({ name, table, sql })),
  );
}

const BY_HAND = 'an order of an operator';
const FEW = 'its tables have a row for each gap or order of an operator, or for what waits to be joined';

/** Methods of the ledger that are not captured, and why. */
export const NOT_CALLED: Readonly<Record<string, string>> = {
  'settlements.answersAt': 'it makes no query',
  'watched.stream': 'it reads the watch set whole, once for each scanner: the bench measures its load time',
  'lostNonces.suspect': FEW,
  'continuity.quarantine': FEW,
  'continuity.endGap': FEW,
  'apiKeys.add': BY_HAND,
  'apiKeys.addFacilitatorKey': BY_HAND,
  'apiKeys.list': BY_HAND,
  'apiKeys.revoke': BY_HAND,
  'assets.put': BY_HAND,
  'routeVersions.get': BY_HAND,
  'routeVersions.list': BY_HAND,
  'routeVersions.publish': BY_HAND,
  'scan.start': 'once for each database',
  'scan.commit': 'scan.upsert makes its queries, beside those of the cursor',
  ...Object.fromEntries(
    ['begin', 'record', 'recordError', 'end', 'endAudit', 'giveUp'].map(
      (name) => [`backfills.${name}`, FEW] as const,
    ),
  ),
  'gaps.open': FEW,
  'gaps.close': FEW,
  'stagedRanges.stage': FEW,
  'stagedRanges.join': FEW,
};
